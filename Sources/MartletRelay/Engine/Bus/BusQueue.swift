import MartletWire

/// The items of a turn for the bus.
struct BusQueue: Sendable {
    /// The maximum number of items of a loop that wait. Further ones are lost like a datagram.
    static let maxCount = 4096

    private var messages: [BusMessage] = []
    private var hasLost = false

    mutating func append(_ message: BusMessage) {
        if messages.count < Self.maxCount { messages.append(message) } else { hasLost = true }
    }

    /// Takes the items; nil if there are none.
    mutating func take() -> RelayOutput? {
        guard !messages.isEmpty else { return nil }
        defer { self = BusQueue() }
        return .bus(messages, hasLost: hasLost)
    }
}
