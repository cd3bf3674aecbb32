import CMartletSystem

/// The bytes of one write buffer that the kernel did not take. They are sent before all other bytes, and their memory
/// is freed afterwards.
///
/// The storage needs no ring buffer, because the handler provides no further bytes before all of these are sent.
struct UnsentBytes: ~Copyable {
    private var bytes: [UInt8] = []
    private var sentCount = 0

    var count: Int { bytes.count - sentCount }

    /// Keeps `rest`. No earlier bytes may be left.
    mutating func keep(_ rest: [UInt8]) {
        precondition(count == 0)
        bytes = rest
        sentCount = 0
    }

    /// Sends the bytes. Returns the number of bytes that the kernel took, or the negated error number.
    func send(to descriptor: Int32) -> Int {
        unsafe bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe Int(martlet_socket_send(descriptor, start + sentCount, buffer.count - sentCount))
        }
    }

    mutating func discard(_ count: Int) {
        sentCount += count
        if sentCount == bytes.count { removeAll() }
    }

    mutating func removeAll() {
        bytes = []
        sentCount = 0
    }
}
