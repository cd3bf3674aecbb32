import MartletLink
import MartletWire

/// A session of kind attachment, which is no member of its room.
///
/// | state of a read | owns | ends |
/// |---|---|---|
/// | waiting | an entry in the queue | `nextRead`: there is room for its bytes; `takeWaiting` |
/// | reading | the room for its bytes, a call of the store | `answered` |
/// | in flight | the bytes of the response | `credit`: they are acknowledged |
struct AttachmentSession: Sendable {
    /// The maximum number of requests without an answer.
    static let maxRequestCount = 64
    /// The maximum number of incomplete uploads that the session has begun.
    static let maxUploadCount = 256
    /// The duration after which a request that exceeds a bound of the session may succeed.
    static let retryAfter = Duration.seconds(1)
    /// Bytes that are read for the session, or in flight to it, beyond which further reads wait.
    static let flightByteCount = 256 * 1024  // bound

    /// A request for bytes.
    struct Read: Sendable {
        var correlation: UInt64
        var digest: AttachmentDigest
        var position: UInt64
        var length: Int
    }

    let key: MemberKey
    let who: DeviceKey
    var permissions: RoomPermissions
    /// Whether the link has no connection.
    var isAway = false
    /// Whether the client has closed the session, which ends when its requests are answered.
    var isClosing = false
    /// The uploads that the session has begun.
    var begun: Set<AttachmentDigest> = []
    /// Requests without an answer.
    var requestCount = 0
    private var waiting = Deque<Read>()
    private var readingByteCount = 0
    private var inFlightByteCount = 0

    init(_ join: JoinRequest) {
        key = join.member
        who = join.who
        permissions = join.permissions
    }

    /// Whether a further request is refused.
    var isFull: Bool { requestCount >= Self.maxRequestCount }

    mutating func append(_ read: Read) { waiting.append(read) }

    /// Removes a read that waits; false if it does not.
    mutating func cancel(_ correlation: UInt64) -> Bool {
        let count = waiting.count
        waiting = Deque(waiting.filter { $0.correlation != correlation })
        return waiting.count < count
    }

    /// Takes all reads that wait.
    mutating func takeWaiting() -> Deque<Read> {
        defer { waiting.removeAll() }
        return waiting
    }

    /// The next read for which there is room.
    mutating func nextRead() -> Read? {
        guard !isAway, let next = waiting.first,
            readingByteCount + inFlightByteCount + next.length <= Self.flightByteCount
        else { return nil }
        readingByteCount += next.length
        return waiting.popFirst()
    }

    /// The store has answered a read.
    mutating func endRead(length: Int) { readingByteCount -= length }

    /// A response was queued.
    mutating func sent(byteCount: Int) { inFlightByteCount += byteCount }

    /// Frames were acknowledged.
    mutating func credit(byteCount: Int) { inFlightByteCount = max(0, inFlightByteCount - byteCount) }

    /// Checks that the session has no requests, and no bytes in flight.
    func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("attachments of \(who.device)")
        check.equal("requests", requestCount, 0)
        check.empty("reads that wait", count: waiting.count)
        check.equal("bytes that are read", readingByteCount, 0)
        check.equal("bytes in flight", inFlightByteCount, 0)
        check.equal("flags", isAway, false)
        return check
    }
}
