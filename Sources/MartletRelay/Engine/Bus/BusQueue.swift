import MartletWire

/// The items of a turn for the bus.
struct BusQueue: Sendable {
    /// The maximum number of items of a loop that wait. Further ones are lost like a datagram.
    static let maxCount = 4096
    /// The maximum number of bytes of the items of a loop that wait. Further ones are lost like a datagram.
    static let maxByteCount = 4 * 1024 * 1024

    /// The number of bytes that are counted for the names and numbers of an item.
    private static let headByteCount = 256

    private var messages: [BusMessage] = []
    private var byteCount = 0
    private var hasLost = false

    mutating func append(_ message: BusMessage) {
        let end = byteCount + Self.headByteCount + message.item.contentByteCount
        guard messages.count < Self.maxCount, end <= Self.maxByteCount else { return hasLost = true }
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
