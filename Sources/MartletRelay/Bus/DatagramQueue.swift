import MartletLink

/// The datagrams that wait for the connection of a bus. Beyond the bound the oldest are dropped, since later ones of a
/// relay replace what they state.
package struct DatagramQueue: Sendable {
    /// The maximum number of bytes of datagrams that wait. Beyond the bound the oldest are dropped.
    package static let maxByteCount = 4 * 1024 * 1024
    /// The number of bytes that each datagram counts besides its own.
    private static let overhead = 64
    /// The maximum number of datagrams that are taken at once.
    package static let maxBatchCount = 256

    private var waiting = Deque<[UInt8]>()
    private var byteCount = 0

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }

    /// Adds datagrams. Those longer than `maxDatagramByteCount` are dropped.
    package mutating func add(_ datagrams: [[UInt8]], maxDatagramByteCount: Int) {
        for datagram in datagrams where datagram.count <= maxDatagramByteCount {
            waiting.append(datagram)
            byteCount += datagram.count + Self.overhead
        }
        while byteCount > Self.maxByteCount, let oldest = waiting.popFirst() {
            byteCount -= oldest.count + Self.overhead
        }
    }

    /// Takes the oldest datagrams.
    package mutating func take() -> [[UInt8]] {
        var taken: [[UInt8]] = []
        while taken.count < Self.maxBatchCount, let oldest = waiting.popFirst() {
            byteCount -= oldest.count + Self.overhead
            taken.append(oldest)
        }
        return taken
    }

    package mutating func removeAll() { self = DatagramQueue() }
}
