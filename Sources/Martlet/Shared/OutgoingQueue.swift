import MartletProtocol
import MartletWire

/// The sending end of a room, between those who send and the loop.
///
/// A message is *waiting* while the room's bound is met, in the order of the calls; then it gets its counter and is
/// *arriving* until the loop takes it; then it is the engine's, and *pending* until it is accepted or has failed.
/// Arriving and pending messages count against the bound.
struct OutgoingQueue: Sendable {
    struct Arriving: Sendable {
        let counter: UInt64
        let message: OutgoingMessage
        /// Resolved when the outbox has the message; nil when nobody waits for that.
        let shot: OneShot<Sending>?
    }

    let maxPendingMessages: Int
    let maxPendingByteCount: Int
    private let source: CounterSource
    private var block: Range<UInt64> = 0..<0
    private(set) var waiting = WaitingSends()
    private(set) var arriving: [Arriving] = []
    private(set) var pendingCount = 0
    private(set) var pendingByteCount = 0

    init(maxPendingMessages: Int, maxPendingByteCount: Int, source: CounterSource) {
        self.maxPendingMessages = max(maxPendingMessages, 1)
        self.maxPendingByteCount = maxPendingByteCount
        self.source = source
    }

    /// Whether a message may be queued now: there is room, and nobody was there before.
    func hasRoom(for message: OutgoingMessage) -> Bool {
        waiting.isEmpty && isWithinBounds(message)
    }

    private func isWithinBounds(_ message: OutgoingMessage) -> Bool {
        pendingCount < maxPendingMessages && pendingByteCount + message.content.byteCount <= maxPendingByteCount
    }

    /// Gives the message its counter.
    mutating func append(_ message: OutgoingMessage, _ shot: OneShot<Sending>?) -> UInt64 {
        if block.isEmpty { block = source.takeBlock() }
        let counter = block.lowerBound
        block = (counter + 1)..<block.upperBound
        count(1, byteCount: message.content.byteCount)
        arriving.append(Arriving(counter: counter, message: message, shot: shot))
        return counter
    }

    /// A message that has its counter from earlier.
    mutating func restore(byteCount: Int) {
        count(1, byteCount: byteCount)
    }

    /// Answers the ticket with which the message can be withdrawn.
    mutating func wait(_ message: OutgoingMessage, _ shot: OneShot<Sending>) -> UInt64 {
        waiting.append(message, shot)
    }

    mutating func takeArriving() -> [Arriving] {
        defer { arriving = [] }
        return arriving
    }

    /// A message is no longer pending.
    mutating func release(byteCount: Int) {
        count(-1, byteCount: -byteCount)
    }

    /// The next of those who wait, if there is room for it now.
    mutating func popAdmissible() -> WaitingSends.Entry? {
        guard let first = waiting.first, isWithinBounds(first.message) else { return nil }
        return waiting.popFirst()
    }

    /// Takes a message back before the loop has it; its counter, if it had one already, is in the answer.
    ///
    /// - Parameter ticket: what `wait` answered; nil when the message did not wait.
    mutating func withdraw(_ shot: OneShot<Sending>, ticket: UInt64?) -> Withdrawal {
        if let ticket, waiting.withdraw(ticket) { return .waiting }
        guard let index = arriving.firstIndex(where: { $0.shot === shot }) else { return .tooLate }
        let entry = arriving.remove(at: index)
        count(-1, byteCount: -entry.message.content.byteCount)
        return .arriving(counter: entry.counter)
    }

    enum Withdrawal: Sendable {
        case waiting
        case arriving(counter: UInt64)
        case tooLate
    }

    /// Nobody is let in any more.
    mutating func removeWaiting() -> [OneShot<Sending>] {
        waiting.removeAll()
    }

    /// Nothing more is sent: everybody who waits is let go.
    mutating func removeAll() -> [OneShot<Sending>] {
        removeWaiting() + takeArriving().compactMap(\.shot)
    }

    private mutating func count(_ messages: Int, byteCount: Int) {
        pendingCount += messages
        pendingByteCount += byteCount
    }
}
