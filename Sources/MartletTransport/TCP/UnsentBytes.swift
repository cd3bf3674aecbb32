import CMartletSystem

/// What the kernel did not take of one full buffer: sent before anything else, and no memory once it is gone.
///
/// Not a ring: nothing is added before all of it is sent, since the handler is not asked until then.
struct UnsentBytes: ~Copyable {
    private var bytes: [UInt8] = []
    private var sentCount = 0

    var count: Int { bytes.count - sentCount }

    /// Keeps `rest`. There must be nothing left of what was kept before.
    mutating func keep(_ rest: [UInt8]) {
        precondition(count == 0)
        bytes = rest
        sentCount = 0
    }

    /// Sends what the kernel takes: how much, or the negated error number.
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
