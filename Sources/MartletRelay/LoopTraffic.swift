/// The messages that one loop has sent to another loop without a confirmation of their processing.
///
/// After half a window the sender requests a confirmation. If it sends another half window before the confirmation, it
/// stops reading the connections that cause the messages.
struct LoopTraffic {
    /// The maximum number of messages in transit from one loop to another. Beyond it connections are throttled.
    static let windowCount = 16_384  // bound

    /// Messages sent since the last request for a confirmation.
    private var count = 0
    private var isAwaitingConfirmation = false

    var isFull: Bool { isAwaitingConfirmation && count >= Self.windowCount / 2 }

    /// Counts sent messages. Returns whether the other loop must confirm now.
    mutating func send(_ messageCount: Int) -> Bool {
        count += messageCount
        guard !isAwaitingConfirmation, count >= Self.windowCount / 2 else { return false }
        isAwaitingConfirmation = true
        count = 0
        return true
    }

    /// The other loop has processed all messages sent before the request.
    mutating func confirm() {
        isAwaitingConfirmation = false
    }
}
