import MartletLink
import MartletWire

/// An upload in memory: which of its bytes are durable, and those on their way to the store.
///
/// | state | owns | ends |
/// |---|---|---|
/// | opening | a request for the position, operations that wait for it | `opened`; the upload fails |
/// | idle | the durable position | `write`; a removal; `reopen` |
/// | writing | one call of the store, bytes for the next one, requests without an answer | `stored`; the upload fails |
/// | complete | the length | `reopen`; its last session ends |
/// | removing | operations that wait for the store to discard the bytes | the store has answered |
///
/// Bytes that arrive while the store writes are stored by the next call together, so that one sync serves them all. An
/// operation whose result depends on an earlier one waits for it, so that operations take effect in their order
///
struct AttachmentUpload: Sendable {
    /// A request that is answered with a position.
    struct Waiter: Sendable {
        var session: MemberHandle
        var correlation: UInt64
        /// The credit of the request's frames, which is released with the answer.
        var creditByteCount: Int
    }

    /// An operation on the upload.
    enum Operation: Equatable, Sendable {
        case begin(byteCount: UInt64, mediaType: String?)
        case write([UInt8], position: UInt64)
        case remove
    }

    /// An operation that waits.
    struct Held: Sendable {
        var operation: Operation
        var waiter: Waiter
    }

    private enum State {
        case opening
        case open
        case removing
    }

    /// The answer to bytes.
    enum OnWrite: Equatable {
        /// The bytes are durable.
        case stored
        /// The answer follows.
        case waits
        /// The bytes do not follow those before, or exceed the length.
        case wrongPosition
    }

    let byteCount: UInt64
    /// The room's count of completions when the store was asked for the position.
    private var completionCount: UInt64 = 0
    /// The durable bytes.
    private(set) var position: UInt64 = 0
    /// The bytes that were received.
    private var received: UInt64 = 0
    private var state = State.opening
    private var isWriting = false
    private var chunks: [[UInt8]] = []
    /// Requests that the current call answers, and those of the next one.
    private var answered: [Waiter] = []
    private var waiting: [Waiter] = []
    /// Operations that wait, in their order.
    private var held = Deque<Held>()
    /// Sessions that have begun the upload.
    var sessionCount = 0

    init(byteCount: UInt64) {
        self.byteCount = byteCount
    }

    /// An upload whose bytes the store discards, and operations that wait.
    init(removingBefore held: Deque<Held>) {
        byteCount = 0
        state = .removing
        self.held = held
    }

    var isOpening: Bool { state == .opening }
    var isComplete: Bool { state == .open && position == byteCount }
    private var isWritten: Bool { !isWriting && chunks.isEmpty }
    /// Whether the upload has no work.
    var isIdle: Bool { state == .open && isWritten && held.isEmpty }

    // MARK: Order

    /// Keeps an operation that depends on an earlier one; false if it can be performed now.
    mutating func hold(_ operation: Operation, _ waiter: Waiter) -> Bool {
        guard !held.isEmpty || !isReady(for: operation) else { return false }
        held.append(Held(operation: operation, waiter: waiter))
        return true
    }

    /// The next operation that waited and can be performed.
    mutating func nextHeld() -> Held? {
        guard let next = held.first, isReady(for: next.operation) else { return nil }
        return held.popFirst()
    }

    /// Takes all operations that wait.
    mutating func takeHeld() -> Deque<Held> {
        defer { held.removeAll() }
        return held
    }

    private func isReady(for operation: Operation) -> Bool {
        state == .open && (operation != .remove || isWritten)
    }

    // MARK: Position

    /// A request for the position; true if it is answered at once.
    mutating func begin(_ waiter: Waiter) -> Bool {
        if isOpening { answered.append(waiter) }
        return !isOpening
    }

    /// Whether a `begin` asks the store again: a complete upload may have expired. If the room has counted completions
    /// since the store was asked, another account may have completed the attachment of an idle one.
    func isStale(_ completionCount: UInt64) -> Bool {
        isComplete || isIdle && self.completionCount != completionCount
    }

    /// The store is asked for the position, when the room has counted this many completions.
    mutating func reopen(_ completionCount: UInt64) {
        self.completionCount = completionCount
        state = .opening
        position = 0
        received = 0
    }

    /// The store has answered with the position. Returns the requests to answer.
    mutating func opened(at position: UInt64) -> [Waiter] {
        state = .open
        self.position = position
        received = position
        return takeAnswered()
    }

    // MARK: Bytes

    /// Takes bytes. Those that were received before are not stored again.
    mutating func write(_ bytes: [UInt8], at start: UInt64, _ waiter: Waiter) -> OnWrite {
        let (end, isBeyond) = start.addingReportingOverflow(UInt64(bytes.count))
        guard !isBeyond, end <= byteCount, start <= received, state == .open else { return .wrongPosition }
        if end <= position { return .stored }
        if end > received {
            chunks.append(start == received ? bytes : Array(bytes.dropFirst(Int(received - start))))
            received = end
            waiting.append(waiter)
        } else if chunks.isEmpty {
            answered.append(waiter)
        } else {
            waiting.append(waiter)
        }
        return .waits
    }

    /// The bytes of the next call, and their position; nil while the store is busy.
    mutating func nextWrite() -> (position: UInt64, chunks: [[UInt8]])? {
        guard state == .open, !isWriting, !chunks.isEmpty else { return nil }
        isWriting = true
        answered.append(contentsOf: waiting)
        waiting = []
        defer { chunks = [] }
        return (position, chunks)
    }

    /// The store has made bytes durable. Returns the requests to answer.
    mutating func stored(upTo position: UInt64) -> [Waiter] {
        isWriting = false
        self.position = position
        return takeAnswered()
    }

    /// The requests to answer when the upload ends, without the operations that wait.
    var unanswered: [Waiter] { answered + waiting }

    private mutating func takeAnswered() -> [Waiter] {
        defer { answered = [] }
        return answered
    }
}
