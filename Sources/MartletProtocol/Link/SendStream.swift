import MartletWire

/// One direction of a session, outgoing: what is queued, what is unacknowledged, and where in it the connection stands.
///
/// There is one queue. Its front part has been sent and waits for acknowledgement, the rest has not been sent on this
/// connection; sequences follow from positions, so a frame is a few numbers. A new connection moves the mark back to
/// the front (resume), an acknowledgement drops frames from the front, ranges tick frames off behind it (S-16, S-26).
/// The bodies lie beside (``SendRows``).
///
/// On a carrier without order each transmission has a number of its own, also when it repeats a frame: a transmission
/// is lost when one three numbers later was acknowledged (RFC 9002 §6.1.1), so a repetition can be lost and found
/// again (S-32).
struct SendStream: Sendable {
    /// A frame as whoever writes it sees it.
    struct Entry: Sendable {
        var body: EncodedBody
        var fragment: Int
        var type: FrameType

        /// Of the body, as it is sent.
        var byteCount: Int { body.byteCount(ofFragment: fragment) }
        /// What the frame costs in credit, in bytes before compression.
        var cost: UInt64 { type.isCredited ? UInt64(body.plainByteCount(ofFragment: fragment)) : 0 }
        /// What the rest of the message costs, this fragment included.
        var costToEnd: UInt64 {
            guard type.isCredited else { return 0 }
            let before = fragment == 0 ? 0 : fragment * body.plainByteCount(ofFragment: 0)
            return UInt64(body.plainByteCount - before)
        }
        var isLast: Bool { fragment + 1 == body.fragmentCount }
    }

    /// What is to be remembered of a frame.
    struct Frame: Sendable {
        /// When it was last sent, in nanoseconds of the caller's clock.
        var sentAt: UInt64 = 0
        /// The number of the transmission that carried it last.
        var transmission: UInt64 = 0
        /// Of its body, as it is sent.
        var byteCount: UInt32
        var type: FrameType
        /// Whether it is all of a body that can be written as it is.
        var isWhole: Bool
        var isAcknowledged = false
        /// Taken for lost and waiting in `again`.
        var isLost = false

        /// What it costs in credit if it is whole: nothing of that is compressed.
        @inline(__always)
        var wholeCost: UInt64 { type.isCredited ? UInt64(byteCount) : 0 }
    }

    /// Frames that one session may hold, sent or not. Frames without a body cost no credit, so they need a bound of
    /// their own (S-31).
    static let maxEntries = 8192
    /// Later transmissions that must have arrived before an earlier one counts as lost (RFC 9002's kPacketThreshold).
    static let reorderThreshold: UInt64 = 3

    /// What is known of the stream at all times.
    struct Totals: Sendable {
        /// The sequence of the first frame; sequences start at 1 (Specs/wire.md §3.5; W-11).
        var base: UInt64
        /// Credit used so far, each frame counted once, and the absolute limit that the peer set.
        var creditUsed: UInt64 = 0
        var creditLimit: UInt64
        /// Whether the carrier may reorder frames, so what is overtaken may be lost.
        var losesOvertaken = false
    }

    /// The frames that are not acknowledged, sent or not, and where the connection stands in them.
    struct Queue: Neutral, Sendable {
        static let neutral = Queue()

        var frames = Deque<Frame>()
        var rows = SendRows()
        /// Frames that were sent on this connection, counted from the first one.
        var sentCount = 0
        /// The same on any connection: for these credit has been paid.
        var paidCount = 0
        /// Sequences to send again before anything new; some may have been acknowledged since (S-49).
        var again = Deque<UInt64>()
        /// Bytes of bodies, as sent, that are queued or unacknowledged.
        var byteCount = 0
        /// Of these the messages: frames, and bytes of their bodies.
        var messageFrameCount = 0
        var messageByteCount = 0
        /// Frames of requests, and bytes of the bodies of requests and responses.
        var requestFrameCount = 0
        var requestByteCount = 0
        /// Bytes of bodies on their way on this connection: sent, neither acknowledged nor lost.
        var inFlightByteCount = 0
        /// Bytes of bodies of the first `sentCount` frames, on a carrier without order.
        var spanByteCount = 0
        /// Whether the link keeps credit for the rest of the message that is partly sent.
        var isReserved = false

        /// Sequences in the order in which they were sent on this connection, from transmission `firstTransmission` on;
        /// kept on carriers without order only.
        var transmissions = Deque<UInt64>()
        var firstTransmission: UInt64 = 1
        var lastTransmission: UInt64 = 0
        var highestAcknowledged: UInt64 = 0

        /// Whether nothing is queued, and nothing of what was waits to be looked at.
        var isEmpty: Bool { frames.isEmpty && again.isEmpty && transmissions.isEmpty }
    }

    private var totals: Totals
    /// There from the first frame on, until `releaseIdleMemory` finds all of them acknowledged.
    private var queue = OnDemand<Queue>()

    /// A stream whose first frame has the sequence `first`.
    init(creditLimit: UInt64, first: UInt64 = 1) {
        totals = Totals(base: first, creditLimit: creditLimit)
    }

    /// The sequence of the first frame that is not acknowledged.
    var base: UInt64 { totals.base }
    /// The sequence to send next on this connection.
    var next: UInt64 { totals.base + UInt64(queue.value.sentCount) }
    /// One past the highest sequence ever sent on any connection: below it credit has been paid.
    var neverSent: UInt64 { totals.base + UInt64(queue.value.paidCount) }
    var creditUsed: UInt64 { totals.creditUsed }
    var creditLimit: UInt64 { totals.creditLimit }
    /// Bytes of bodies, as sent, that are queued or unacknowledged.
    var byteCount: Int { queue.value.byteCount }
    /// Of these the messages: frames, and bytes of their bodies.
    var messageFrameCount: Int { queue.value.messageFrameCount }
    var messageByteCount: Int { queue.value.messageByteCount }
    /// Frames of requests, and bytes of the bodies of requests and responses.
    var requestFrameCount: Int { queue.value.requestFrameCount }
    var requestByteCount: Int { queue.value.requestByteCount }
    /// Bytes of bodies on their way on this connection: sent, neither acknowledged nor lost.
    var inFlightByteCount: Int { queue.value.inFlightByteCount }
    var end: UInt64 { totals.base + UInt64(count) }
    var isEmpty: Bool { count == 0 }
    var count: Int { queue.value.frames.count }
    var hasUnacknowledged: Bool { queue.value.sentCount > 0 }
    /// Whether anything waits to be sent, be there credit for it or not.
    var hasUnsent: Bool { queue.isAllocated && queue.value.hasUnsent }
    /// The highest sequence that a peer may truthfully have received.
    var highestSent: UInt64 { neverSent - 1 }

    subscript(sequence: UInt64) -> Entry { queue.value.entry(sequence, totals) }

    /// Whether there is memory for frames.
    var hasQueue: Bool { queue.isAllocated }
    /// What a queue takes beside its frames, in bytes.
    static let queueByteCount = MemoryLayout<Queue>.size + 256

    /// Gives the queue's memory back when all frames are acknowledged.
    mutating func releaseIdleMemory() {
        if queue.isAllocated, queue.value.isEmpty { queue.release() }
    }

    func hasRoom(for body: EncodedBody) -> Bool {
        count + body.fragmentCount <= SendStream.maxEntries
    }

    mutating func append(_ type: FrameType, _ body: EncodedBody) {
        queue.value.append(type, body, first: end)
    }

    /// Appends messages of a room; false, and nothing is appended, when there is no room for all of them.
    mutating func append(_ messages: ArraySlice<LogEntry>) -> Bool {
        queue.value.append(messages, base: totals.base)
    }

    // MARK: Sending

    /// Credit of the link as one of its sessions sees it.
    struct LinkCredit: Equatable {
        /// Bytes that neither were sent nor are kept for the rest of a message.
        var available: UInt64
        /// Whether a message may begin although there is no credit for the whole of it yet: one at a time may (S-40).
        var mayBeginUnreserved: Bool
        /// Bytes that the receiver can still hold behind gaps, on a carrier without order (S-32).
        var holdable = Int.max
    }

    /// The sequence that is to go out next, if credit allows it (W-52).
    func nextToSend(_ link: LinkCredit) -> UInt64? {
        queue.isAllocated ? queue.value.nextToSend(link, totals) : nil
    }

    /// What sending a frame for the first time changed.
    struct Sent: Equatable {
        /// Credit used.
        var cost: UInt64
        /// Whether a message is partly sent now, for whose rest no credit is kept.
        var isUnreserved: Bool
    }

    /// Marks a frame as sent; nil when it had been sent before and has been paid for (S-35).
    ///
    /// - Parameter available: the link's credit; when it covers the rest of the message, the rest is reserved.
    mutating func markSent(_ sequence: UInt64, at now: Instant, available: UInt64) -> Sent? {
        queue.value.markSent(sequence, at: now, available: available, &totals)
    }

    /// The sums of a batch of frames.
    struct Batch {
        var frameCount = 0
        /// Bytes of headers and bodies, as they are without packets.
        var byteCount = 0
        /// Credit used.
        var cost: UInt64 = 0

        @inline(__always)
        func takes(_ frame: Frame, _ credit: UInt64, _ limit: Int, _ room: Int) -> Bool {
            byteCount < limit && frame.isWhole && frame.wholeCost <= credit - cost
                && FrameHeader.byteCount + Int(frame.byteCount) <= room
        }

        @inline(__always)
        mutating func add(_ frame: Frame) {
            frameCount += 1
            byteCount += FrameHeader.byteCount + Int(frame.byteCount)
            cost += frame.wholeCost
        }
    }

    /// Writes frames that are one fragment each and go out for the first time, one behind the other: what `nextToSend`
    /// and `markSent` say of each, with the stream looked at once. It ends before whatever is not as usual. The rows
    /// keep the bodies, which are read where they lie.
    ///
    /// - Parameters:
    ///   - common: what the frames' headers have in common.
    ///   - credit: the link's, in bytes.
    ///   - limit: the last frame begins within so many bytes.
    mutating func writeBatch(
        _ common: FrameHeader, credit: UInt64, limit: Int, asksForAck: Bool = false, _ encoder: FrameEncoder,
        into out: inout OutputRawSpan, now: Instant
    ) -> Batch {
        guard queue.isAllocated else { return Batch() }
        return queue.value.writeBatch(
            common, credit: credit, limit: limit, asksForAck: asksForAck, encoder, into: &out, now: now, &totals)
    }

    /// Bytes that the receiver may hold of this session when the lowest unacknowledged frame is lost. Each frame adds
    /// 192 bytes (S-31).
    var heldByteCount: Int {
        queue.value.spanByteCount + queue.value.sentCount * ReceiveStream.heldFrameByteCount
    }

    /// Credit that the link keeps for the rest of the message that is partly sent.
    var reservedCredit: UInt64 {
        queue.value.isReserved && neverSent < end ? self[neverSent].costToEnd : 0
    }

    /// Whether frames that cost credit may not have arrived.
    var hasUnacknowledgedCredit: Bool {
        queue.value.frames.prefix(queue.value.paidCount).contains { !$0.isAcknowledged && $0.type.isCredited }
    }

    mutating func raiseCreditLimit(to limit: UInt64) {
        totals.creditLimit = max(totals.creditLimit, limit)
    }

    /// Raises the limit; returns whether the gain is one that an honest peer announces (S-39). A limit beyond what the
    /// peer can have room for gains nothing more (S-37).
    mutating func raiseCreditLimit(to limit: UInt64, windowByteCount: Int, maxMessageByteCount: Int) -> Bool {
        let plausible = min(limit, creditUsed + UInt64(windowByteCount) + UInt64(maxMessageByteCount))
        defer { raiseCreditLimit(to: limit) }
        return plausible > creditLimit && plausible - creditLimit >= UInt64(windowByteCount / 16)
    }

    // MARK: Acknowledgement

    /// What an acknowledgement brought: bytes that left the flight, frames that are news, bytes that left the queue.
    struct Acknowledged: Equatable {
        var byteCount = 0
        var frameCount = 0
        var releasedByteCount = 0
        var largestSentAt: UInt64 = 0

        mutating func add(_ other: Acknowledged) {
            byteCount += other.byteCount
            frameCount += other.frameCount
            releasedByteCount += other.releasedByteCount
            largestSentAt = max(largestSentAt, other.largestSentAt)
        }
    }

    /// Takes the peer's word for what has arrived; nil when it names what was never sent (W-50, S-23,
    /// Specs/hostile.md row 19).
    mutating func acknowledge(cumulative: UInt64) -> Acknowledged? {
        guard cumulative < neverSent else { return nil }
        guard cumulative >= totals.base else { return Acknowledged() }
        return queue.value.acknowledge(cumulative: cumulative, &totals)
    }

    /// Ticks off a range behind a gap, and returns what had not been acknowledged before.
    mutating func acknowledge(range: ClosedRange<UInt64>) -> Acknowledged? {
        guard range.upperBound < neverSent else { return nil }
        guard range.upperBound >= totals.base else { return Acknowledged() }
        return queue.value.acknowledge(range: range, totals)
    }

    // MARK: Loss

    /// What was taken for lost: frames that go out again, and their bytes, which are no longer in flight.
    struct Lost: Equatable {
        var frameCount = 0
        var byteCount = 0
    }

    /// Declares frames lost that were sent on this connection before `time`, the oldest `limit` of them.
    mutating func loseFrames(sentBefore time: Instant, limit: Int) -> Lost {
        queue.isAllocated ? queue.value.loseFrames(sentBefore: time, limit: limit, totals) : Lost()
    }

    /// Declares transmissions lost that were sent by `time` and overtaken by later ones; only for carriers without
    /// order (S-32).
    mutating func loseOvertaken(sentBy time: Instant) -> Lost {
        guard totals.losesOvertaken, queue.isAllocated else { return Lost() }
        return queue.value.loseOvertaken(sentBy: time, totals)
    }

    /// Everything unacknowledged is to be sent again on the connection that begins.
    ///
    /// - Parameter losesOvertaken: the carrier may reorder frames, so what is overtaken may be lost.
    mutating func rewind(losesOvertaken: Bool) {
        totals.losesOvertaken = losesOvertaken
        if queue.isAllocated { queue.value.rewind(totals) }
    }
}

extension FrameType {
    /// Whether bodies of this type use credit: those that carry what applications say. The protocol's own frames are
    /// bounded by count (S-34).
    var isCredited: Bool {
        self == .data || self == .request || self == .response
    }
}
