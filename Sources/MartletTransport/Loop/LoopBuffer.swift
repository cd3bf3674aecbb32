import CMartletSystem

/// A read or write buffer of a loop, shared by its connections. Its content is valid during one call only.
@safe
final class LoopBuffer {
    private let storage: UnsafeMutableRawBufferPointer
    private let start: UnsafeMutableRawPointer

    init(byteCount: Int) {
        unsafe start = .allocate(byteCount: byteCount, alignment: 64)
        unsafe storage = UnsafeMutableRawBufferPointer(start: start, count: byteCount)
        // The kernel initializes the storage later, which the compiler cannot see.
        unsafe storage.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        unsafe start.deallocate()
    }

    var byteCount: Int { unsafe storage.count }

    /// Reads at most `limit` bytes from a socket. Returns the number of bytes, or the negated error number.
    func receive(_ limit: Int, from descriptor: Int32) -> Int {
        unsafe Int(martlet_socket_receive(descriptor, start, min(limit, storage.count)))
    }

    /// Calls `body` with the whole storage, for a library in C.
    func withStorage<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
        unsafe body(storage)
    }

    /// Calls `body` with the first `count` bytes.
    func withBytes(_ count: Int, _ body: (RawSpan) -> Void) {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: storage[..<count])
        unsafe body(RawSpan(_unsafeBytes: bytes))
    }

    /// Lets `body` fill at most `limit` bytes. Returns the number of bytes, and whether `body` may have more.
    func fill(_ limit: Int, _ body: (inout OutputRawSpan) -> Bool) -> (byteCount: Int, mayHaveMore: Bool) {
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: storage[..<limit])
        var output = unsafe OutputRawSpan(buffer: part, initializedCount: 0)
        let mayHaveMore = body(&output)
        let byteCount = unsafe output.finalize(for: part)
        return (byteCount, mayHaveMore && byteCount > 0)
    }

    /// Sends the first `count` bytes. Returns the number of bytes that the kernel took, or the negated error number.
    func send(_ count: Int, to descriptor: Int32) -> Int {
        precondition(count <= byteCount)
        return unsafe Int(martlet_socket_send(descriptor, start, count))
    }

    #if os(Linux)
        /// Reads one datagram from a route socket. Returns its length, or the negated error number.
        func receiveNetlink(from descriptor: Int32) -> Int {
            unsafe Int(martlet_netlink_receive(descriptor, start, storage.count))
        }
    #endif

    func copy(_ range: Range<Int>) -> [UInt8] {
        unsafe Array(storage[range])
    }
}
