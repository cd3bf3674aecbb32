import CMartletSystem
internal import MartletWire

/// A read or write buffer of a loop, shared by its connections. Its content is valid during one call only.
package final class LoopBuffer {
    private var storage: [UInt8]

    init(byteCount: Int) {
        storage = [UInt8](repeating: 0, count: byteCount)
    }

    package var byteCount: Int { storage.count }

    /// Reads at most `limit` bytes from a socket. Returns the number of bytes, or the negated error number.
    func receive(_ limit: Int, from descriptor: Int32) -> Int {
        unsafe Int(martlet_socket_receive(descriptor, &storage, min(limit, byteCount)))
    }

    /// Calls `body` with the whole storage, for a library in C.
    func withStorage<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
        unsafe storage.withUnsafeMutableBytes { unsafe body($0) }
    }

    /// Calls `body` with the first `count` bytes.
    package func withBytes(_ count: Int, _ body: (RawSpan) -> Void) {
        let bytes = storage
        body(bytes.rawBytes.extracting(0..<count))
    }

    /// Lets `body` fill at most `limit` bytes. Returns the number of bytes, and whether `body` may have more.
    package func fill(_ limit: Int, _ body: (inout OutputRawSpan) -> Bool) -> (byteCount: Int, mayHaveMore: Bool) {
        unsafe storage.withUnsafeMutableBytes { bytes in
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[..<limit])
            var output = unsafe OutputRawSpan(buffer: part, initializedCount: 0)
            let mayHaveMore = body(&output)
            let byteCount = unsafe output.finalize(for: part)
            return (byteCount, mayHaveMore && byteCount > 0)
        }
    }

    /// Sends the first `count` bytes. Returns the number of bytes that the kernel took, or the negated error number.
    func send(_ count: Int, to descriptor: Int32) -> Int {
        precondition(count <= byteCount)
        return unsafe Int(martlet_socket_send(descriptor, storage, count))
    }

    #if os(Linux)
        /// Reads one datagram from a route socket. Returns its length, or the negated error number.
        func receiveNetlink(from descriptor: Int32) -> Int {
            unsafe Int(martlet_netlink_receive(descriptor, &storage, storage.count))
        }
    #endif

    func copy(_ range: Range<Int>) -> [UInt8] {
        Array(storage[range])
    }
}
