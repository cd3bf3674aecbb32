import MartletWire

/// An upload in memory: which of its bytes are durable, and those on their way to the store.
///
/// | state | owns | ends |
/// |---|---|---|
/// | opening | requests for the position | `opened`; the upload fails |
/// | idle | the durable position | `write`; `remove`; `reopen` |
/// | writing | one call of the store, bytes for the next one, requests without an answer | `stored`; the upload fails |
/// | complete | the length | `reopen`; its last session ends |
///
/// Bytes that arrive while the store writes are stored by the next call together, so that one sync serves them all.
struct AttachmentUpload: Sendable {
    /// A request that is answered with a position.
    struct Waiter: Sendable {
        var session: MemberHandle
        var correlation: UInt64
        /// The credit of the request's frames, which is released with the answer.
        var creditByteCount: Int
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
    private(set) var isOpening = true
    private(set) var isWriting = false
    private var chunks: [[UInt8]] = []
    /// Requests that the present call answers, and those of the next one.
    private var answered: [Waiter] = []
    private var waiting: [Waiter] = []
    /// Sessions that have begun the upload.
    var sessionCount = 0
    /// A request that discards the upload, when the present call has ended.
    var removal: Waiter?

    init(byteCount: UInt64) {
        self.byteCount = byteCount
    }

    var isComplete: Bool { !isOpening && position == byteCount }
    /// Whether the upload has no work.
    var isIdle: Bool { !isOpening && !isWriting && chunks.isEmpty && removal == nil }

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
        isOpening = true
        position = 0
        received = 0
    }

    /// The store has answered with the position. Returns the requests to answer.
    mutating func opened(at position: UInt64) -> [Waiter] {
        isOpening = false
        self.position = position
        received = position
        return takeAnswered()
    }

    /// Takes bytes. Those that were received before are not stored again.
    mutating func write(_ bytes: [UInt8], at start: UInt64, _ waiter: Waiter) -> OnWrite {
        let (end, isBeyond) = start.addingReportingOverflow(UInt64(bytes.count))
        guard !isBeyond, end <= byteCount, start <= received, !isOpening else { return .wrongPosition }
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
        guard !isOpening, !isWriting, !chunks.isEmpty, removal == nil else { return nil }
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

    /// The upload ends. Returns the requests to answer.
    mutating func takeAll() -> [Waiter] {
        isOpening = false
        isWriting = false
        chunks = []
        defer { waiting = [] }
        return takeAnswered() + waiting
    }

    private mutating func takeAnswered() -> [Waiter] {
        defer { answered = [] }
        return answered
    }
}
