import MartletWire

/// The items of a turn for the bus.
struct BusQueue: Sendable {
    /// The maximum number of items of a loop that wait. Further ones are lost like a datagram.
    static let maxCount = 4096
    /// The maximum number of bytes of the items of a loop that wait. Further ones are lost like a datagram.
    static let maxByteCount = 4 * 1024 * 1024

    private var messages: [BusMessage] = []
    private var byteCount = 0
    private var hasLost = false

    mutating func append(_ message: BusMessage) {
        guard messages.count < Self.maxCount else { return hasLost = true }
        let end = byteCount + BusWriter.byteCount(of: message)
        guard end <= Self.maxByteCount else { return hasLost = true }
        byteCount = end
        messages.append(message)
    }

    /// Takes the items; nil if there are none.
    mutating func take() -> RelayOutput? {
        guard !messages.isEmpty else { return nil }
        defer { self = BusQueue() }
        return .bus(messages, hasLost: hasLost)
    }
}
