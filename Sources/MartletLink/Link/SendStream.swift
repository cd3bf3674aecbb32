import MartletWire

/// The outgoing direction of a session: its credit, and its queue of unacknowledged frames.
///
/// There is one queue (``SendQueue``). Its front part was sent and waits for acknowledgement; the rest was not sent on
/// this connection. The position of a frame determines its sequence. A new connection resets the front part (resume),
/// an acknowledgement removes frames from the front, ranges mark frames behind it (S-16, S-26). The bodies are stored
/// separately (``SendBatches``).
///
/// On a carrier without order each transmission has a number of its own, also when it repeats a frame: a transmission
/// is lost when one three numbers later was acknowledged (RFC 9002 §6.1.1), so the loss of a retransmission is detected
/// too (S-32).
struct SendStream: ~Copyable, Sendable {
    /// A frame with its body.
    struct Entry: Sendable {
        var body: EncodedBody
        var fragment: Int
        var type: FrameType

        /// The size of the fragment as sent.
        var byteCount: Int { body.byteCount(ofFragment: fragment) }
        /// Its cost in credit, in bytes before compression.
        var cost: UInt64 { type.isCredited ? UInt64(body.plainByteCount(ofFragment: fragment)) : 0 }
        /// The cost of the rest of the message, this fragment included.
        var costToEnd: UInt64 {
            guard type.isCredited else { return 0 }
            let before = fragment == 0 ? 0 : fragment * body.plainByteCount(ofFragment: 0)
            return UInt64(body.plainByteCount - before)
        }
        var isLast: Bool { fragment + 1 == body.fragmentCount }
    }

    /// The maximum number of frames of a session, sent or not. Frames without a body cost no credit, so their number is
    /// bounded (S-31).
    static let maxEntries = 8192
    /// The number of later transmissions whose arrival means that an earlier one is lost (RFC 9002's kPacketThreshold).
    static let reorderThreshold: UInt64 = 3

    /// The state that the stream keeps without a queue.
    struct Totals: Sendable {
        /// The sequence of the first frame; sequences start at 1 (Specs/wire.md §3.5; W-11).
        var base: UInt64
        /// Credit used so far, each frame counted once, and the absolute limit that the peer set.
        var creditUsed: UInt64 = 0
        var creditLimit: UInt64
        /// Credit that requests and responses use, sent or not.
        var requestCost: UInt64 = 0
        /// Whether the carrier may reorder frames, so an overtaken frame may be lost.
        var losesOvertaken = false
    }

    private var totals: Totals
    /// Allocated with the first frame, and released by `releaseIdleMemory` when all are acknowledged.
    private var queue = OnDemand<SendQueue>()

    /// A stream whose first frame has the sequence `first`.
    init(creditLimit: UInt64, first: UInt64 = 1) {
        totals = Totals(base: first, creditLimit: creditLimit)
    }

    /// The sequence of the first frame that is not acknowledged.
    var base: UInt64 { totals.base }
    /// The sequence to send next on this connection.
    var next: UInt64 { totals.base + UInt64(queue.value.sentCount) }
    /// One past the highest sequence that was sent on any connection. Credit is charged for all below it.
    var neverSent: UInt64 { totals.base + UInt64(queue.value.chargedCount) }
    var creditUsed: UInt64 { totals.creditUsed }
    var creditLimit: UInt64 { totals.creditLimit }
    /// The part of the credit limit that is left for messages. A peer that announces more than a window beyond what it
    /// has acknowledged gets no more.
    func messageCreditLimit(windowByteCount: Int) -> UInt64 {
        let acknowledged = creditUsed.subtractingSaturating(UInt64(byteCount))
        let limit = min(creditLimit, acknowledged.addingSaturating(UInt64(windowByteCount)))
        return limit.subtractingSaturating(totals.requestCost)
    }
    /// Used credit that the peer has not returned, at most the window.
    func unreturnedCredit(windowByteCount: Int) -> UInt64 {
        UInt64(windowByteCount).subtractingSaturating(totals.creditLeft)
    }
    /// Bytes of bodies, as sent, that are queued or unacknowledged.
    var byteCount: Int { queue.value.backlog.byteCount }
    /// The same for each type of frame.
    var backlog: SendQueue.Backlog { queue.value.backlog }
    /// Bytes of bodies in flight on this connection: sent, neither acknowledged nor lost.
    var inFlightByteCount: Int { queue.value.inFlightByteCount }
    var end: UInt64 { totals.base + UInt64(count) }
    var isEmpty: Bool { count == 0 }
    var count: Int { queue.value.frames.count }
    var hasUnacknowledged: Bool { queue.value.sentCount > 0 }
    /// Whether it has frames to send, with or without credit for them.
    var hasUnsent: Bool { queue.isAllocated && queue.value.hasUnsent }
    /// Whether a condition applies to bodies that were not completely sent on this connection, or to any without one.
    func hasUnsent(isAttached: Bool, where condition: (FrameType, SendBatches.Bodies) -> Bool) -> Bool {
        queue.isAllocated && queue.value.hasUnsent(isAttached: isAttached, totals, where: condition)
    }
    /// The highest sequence that the peer can have received.
    var highestSent: UInt64 { neverSent - 1 }

    subscript(sequence: UInt64) -> Entry { queue.value.entry(sequence, totals) }

    /// Whether there is memory for frames.
    var hasQueue: Bool { queue.isAllocated }
    /// Memory of a queue without its frames, in bytes.
    static let queueByteCount = MemoryLayout<SendQueue>.size + 256

    /// Releases the queue's memory when all frames are acknowledged.
    mutating func releaseIdleMemory() {
        if queue.isAllocated, queue.value.isEmpty { queue.release() }
    }

    func hasRoom(for body: EncodedBody) -> Bool {
        count + body.fragmentCount <= SendStream.maxEntries
    }

    mutating func append(_ type: FrameType, _ body: EncodedBody) {
        if type.isCredited, type != .data { totals.requestCost += UInt64(body.plainByteCount) }
        queue.value.append(type, body, first: end)
    }

    /// Appends messages of a room, all or none; false when the queue is full.
    mutating func append(_ messages: ArraySlice<LogEntry>) -> Bool {
        queue.value.append(messages, base: totals.base)
    }

    // MARK: Sending

    /// The credit of the link that is available to one of its sessions.
    struct LinkCredit: Equatable {
        /// Bytes that are neither used nor reserved.
        var available: UInt64
        /// Whether a message may begin before there is credit for all of it, as one message at a time may (S-40).
        var mayBeginUnreserved: Bool
        /// Bytes that the receiver can still hold behind gaps, on a carrier without order (S-32).
        var holdable = Int.max
    }

    /// The sequence to send next, if credit allows it (W-52).
    func nextToSend(_ link: LinkCredit) -> UInt64? {
        queue.isAllocated ? queue.value.nextToSend(link, totals) : nil
    }

    /// The effects of sending a frame for the first time.
    struct Sent: Equatable {
        /// Credit used.
        var cost: UInt64
        /// Whether a message is partly sent now without reserved credit for its rest.
        var isUnreserved: Bool
    }

    /// Marks a frame as sent; nil when it had been sent before, so that its credit is charged (S-35).
    ///
    /// - Parameter available: the link's credit; when it covers the rest of the message, the rest is reserved.
    mutating func markSent(_ sequence: UInt64, at now: Instant, available: UInt64) -> Sent? {
        queue.value.markSent(sequence, at: now, available: available, &totals)
    }

    /// The sums of a batch of frames.
    struct Batch {
        var frameCount = 0
        /// Bytes of headers and bodies without packets.
        var byteCount = 0
        /// Credit used.
        var cost: UInt64 = 0

        @inline(__always)
        func takes(_ frame: SendQueue.Frame, _ credit: UInt64, _ limit: Int, _ room: Int) -> Bool {
            byteCount < limit && frame.isWhole && frame.wholeCost <= credit - cost
                && FrameHeader.byteCount + Int(frame.byteCount) <= room
        }

        @inline(__always)
        mutating func add(_ frame: SendQueue.Frame) {
            frameCount += 1
            byteCount += FrameHeader.byteCount + Int(frame.byteCount)
            cost += frame.wholeCost
        }
    }

    /// Writes consecutive frames of one fragment each that are sent for the first time, with the effects of
    /// `nextToSend` and `markSent` for each. The batch ends before any other frame. The bodies are read in place.
    ///
    /// - Parameters:
    ///   - common: the header fields that all frames have in common.
    ///   - credit: the link's available credit, in bytes.
    ///   - limit: the number of bytes within which the last frame begins.
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

    /// Credit that the link reserves for the rest of the message that is partly sent.
    var reservedCredit: UInt64 {
        queue.value.isReserved && neverSent < end ? self[neverSent].costToEnd : 0
    }

    /// Whether frames that cost credit may not have arrived.
    var hasUnacknowledgedCredit: Bool {
        queue.value.frames.prefix(queue.value.chargedCount).contains { !$0.isAcknowledged && $0.type.isCredited }
    }

    mutating func raiseCreditLimit(to limit: UInt64) {
        totals.creditLimit = max(totals.creditLimit, limit)
    }

    /// Raises the limit; returns whether an honest peer would announce the gain (S-39). A limit beyond the maximum room
    /// of the peer gains nothing more (S-37).
    mutating func raiseCreditLimit(to limit: UInt64, windowByteCount: Int, maxMessageByteCount: Int) -> Bool {
        let plausible = min(limit, creditUsed + UInt64(windowByteCount) + UInt64(maxMessageByteCount))
        defer { raiseCreditLimit(to: limit) }
        return plausible > creditLimit && plausible - creditLimit >= UInt64(windowByteCount / 16)
    }

    // MARK: Acknowledgement

    /// The effects of an acknowledgement: bytes that left the flight, newly acknowledged frames, bytes that left the
    /// queue.
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

    /// Acknowledges all frames up to a sequence; nil when the peer names a frame that was never sent (W-50, S-23,
    /// Specs/hostile.md row 19).
    mutating func acknowledge(cumulative: UInt64) -> Acknowledged? {
        guard cumulative < neverSent else { return nil }
        guard cumulative >= totals.base else { return Acknowledged() }
        return queue.value.acknowledge(cumulative: cumulative, &totals)
    }

    /// Acknowledges a range behind a gap; nil when the peer names a frame that was never sent.
    mutating func acknowledge(range: ClosedRange<UInt64>) -> Acknowledged? {
        guard range.upperBound < neverSent else { return nil }
        guard range.upperBound >= totals.base else { return Acknowledged() }
        return queue.value.acknowledge(range: range, totals)
    }

    // MARK: Loss

    /// Frames that count as lost and are sent again, and their bytes, which are no longer in flight.
    struct Lost: Equatable {
        var frameCount = 0
        var byteCount = 0
    }

    /// Declares the oldest `limit` frames lost that were sent on this connection before `time`.
    mutating func loseFrames(sentBefore time: Instant, limit: Int) -> Lost {
        queue.isAllocated ? queue.value.loseFrames(sentBefore: time, limit: limit, totals) : Lost()
    }

    /// Declares transmissions lost that were sent by `time` and overtaken by later ones; only for carriers without
    /// order (S-32).
    mutating func loseOvertaken(sentBy time: Instant) -> Lost {
        guard totals.losesOvertaken, queue.isAllocated else { return Lost() }
        return queue.value.loseOvertaken(sentBy: time, totals)
    }

    /// All unacknowledged frames are to be sent again on a new connection.
    ///
    /// - Parameter losesOvertaken: whether the carrier may reorder frames, so that an overtaken frame may be lost.
    mutating func rewind(losesOvertaken: Bool) {
        totals.losesOvertaken = losesOvertaken
        if queue.isAllocated { queue.value.rewind(totals) }
    }
}

extension FrameType {
    /// Whether bodies of this type use credit: those with content of applications. The protocol's own frames are
    /// bounded by count (S-34).
    package var isCredited: Bool {
        self == .data || self == .request || self == .response
    }
}
