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
    fileprivate struct Frame: Sendable {
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
    fileprivate struct Totals: Sendable {
        /// The sequence of the first frame; sequences start at 1 (Specs/wire.md §3.5; W-11).
        var base: UInt64
        /// Credit used so far, each frame counted once, and the absolute limit that the peer set.
        var creditUsed: UInt64 = 0
        var creditLimit: UInt64
        /// Whether the carrier may reorder frames, so what is overtaken may be lost.
        var losesOvertaken = false
    }

    /// The frames that are not acknowledged, sent or not, and where the connection stands in them.
    fileprivate struct Queue: Neutral, Sendable {
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

    /// What a run of frames came to.
    struct Run {
        var frameCount = 0
        /// Bytes written, headers included.
        var byteCount = 0
        /// Credit used.
        var cost: UInt64 = 0

        @inline(__always)
        fileprivate func takes(_ frame: Frame, _ credit: UInt64, _ limit: Int, _ room: Int) -> Bool {
            byteCount < limit && frame.isWhole && frame.wholeCost <= credit - cost
                && FrameHeader.byteCount + Int(frame.byteCount) <= room
        }

        @inline(__always)
        fileprivate mutating func add(_ frame: Frame) {
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
    mutating func writeRun(
        _ common: FrameHeader, credit: UInt64, limit: Int, asksForAck: Bool = false, into out: inout OutputRawSpan,
        now: Instant
    ) -> Run {
        guard queue.isAllocated else { return Run() }
        return queue.value.writeRun(
            common, credit: credit, limit: limit, asksForAck: asksForAck, into: &out, now: now, &totals)
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

    /// Declares transmissions lost that later ones have overtaken; only for carriers without order.
    mutating func loseOvertaken() -> Lost {
        totals.losesOvertaken && queue.isAllocated ? queue.value.loseOvertaken(totals) : Lost()
    }

    /// Everything unacknowledged is to be sent again on the connection that begins.
    ///
    /// - Parameter losesOvertaken: the carrier may reorder frames, so what is overtaken may be lost.
    mutating func rewind(losesOvertaken: Bool) {
        totals.losesOvertaken = losesOvertaken
        if queue.isAllocated { queue.value.rewind(totals) }
    }
}

extension SendStream.Queue {
    fileprivate typealias Totals = SendStream.Totals

    fileprivate var hasUnsent: Bool { sentCount < frames.count || !again.isEmpty }

    fileprivate func entry(_ sequence: UInt64, _ totals: Totals) -> SendStream.Entry {
        let (body, fragment) = rows.body(of: sequence)
        return SendStream.Entry(body: body, fragment: fragment, type: frame(sequence, totals).type)
    }

    private func frame(_ sequence: UInt64, _ totals: Totals) -> SendStream.Frame {
        frames[Int(sequence - totals.base)]
    }

    fileprivate mutating func append(_ type: FrameType, _ body: EncodedBody, first: UInt64) {
        rows.append(.fragments(body), first: first)
        let isWhole = body.isWhole
        frames.append(count: body.fragmentCount) {
            SendStream.Frame(byteCount: UInt32(body.byteCount(ofFragment: $0)), type: type, isWhole: isWhole)
        }
        byteCount += body.byteCount
        guard type == .data else {
            if type == .request { requestFrameCount += body.fragmentCount }
            if type.isCredited { requestByteCount += body.byteCount }
            return
        }
        messageFrameCount += body.fragmentCount
        messageByteCount += body.byteCount
    }

    fileprivate mutating func append(_ messages: ArraySlice<LogEntry>, base: UInt64) -> Bool {
        // By index: to hold a message is to count references that nobody needs.
        var frameCount = 0
        var size = 0
        for index in messages.indices {
            frameCount += messages[index].body.fragmentCount
            size += messages[index].body.byteCount
        }
        guard frames.count + frameCount <= SendStream.maxEntries else { return false }
        guard frameCount == messages.count else {
            for index in messages.indices {
                append(.data, messages[index].body, first: base + UInt64(frames.count))
            }
            return true
        }
        guard frameCount > 0 else { return true }
        rows.append(.messages(messages), first: base + UInt64(frames.count))
        frames.append(count: frameCount) {
            let index = messages.startIndex + $0
            return SendStream.Frame(
                byteCount: UInt32(messages[index].body.byteCount), type: .data, isWhole: messages[index].body.isWhole)
        }
        byteCount += size
        messageFrameCount += frameCount
        messageByteCount += size
        return true
    }

    fileprivate func nextToSend(_ link: SendStream.LinkCredit, _ totals: Totals) -> UInt64? {
        if let first = again.first { return first }
        guard sentCount < frames.count else { return nil }
        // S-32: what the receiver could not hold behind a gap would be dropped and sent again.
        guard !totals.losesOvertaken || sentCount < ReceiveStream.maxHeldFrames else { return nil }
        let next = totals.base + UInt64(sentCount)
        guard sentCount >= paidCount else { return next }
        let entry = entry(next, totals)
        let cost = entry.cost
        guard cost <= totals.creditLeft else { return nil }
        if isReserved || entry.costToEnd <= link.available { return next }
        return (entry.fragment > 0 || entry.isLast || link.mayBeginUnreserved) && cost <= link.available ? next : nil
    }

    fileprivate mutating func markSent(
        _ sequence: UInt64, at now: Instant, available: UInt64, _ totals: inout Totals
    ) -> SendStream.Sent? {
        let position = Int(sequence - totals.base)
        if again.first == sequence { _ = again.popFirst() }
        if position == sentCount {
            sentCount += 1
            skipAcknowledged()
        }
        lastTransmission += 1
        if totals.losesOvertaken { transmissions.append(sequence) }
        frames[position].sentAt = now.nanoseconds
        frames[position].transmission = lastTransmission
        frames[position].isLost = false
        inFlightByteCount += Int(frames[position].byteCount)
        dropStale(totals)
        guard position >= paidCount else { return nil }
        paidCount = position + 1
        let entry = entry(sequence, totals)
        totals.creditUsed += entry.cost
        isReserved = !entry.isLast && (isReserved || entry.costToEnd <= available)
        return SendStream.Sent(
            cost: entry.cost, isUnreserved: entry.type.isCredited && !entry.isLast && !isReserved)
    }

    fileprivate mutating func writeRun(
        _ common: FrameHeader, credit: UInt64, limit: Int, asksForAck: Bool, into out: inout OutputRawSpan,
        now: Instant, _ totals: inout Totals
    ) -> SendStream.Run {
        var run = SendStream.Run()
        guard sentCount == paidCount, sentCount < frames.count, again.isEmpty, !isReserved, !totals.losesOvertaken,
            let ring = frames.ownRing()
        else { return run }
        let credit = min(credit, totals.creditLeft)
        let base = totals.base
        var header = common
        var position = sentCount
        var row = rows.index(of: base + UInt64(position))
        rows: while position < ring.count {
            switch rows[row].bodies {
            case .fragments(let body):
                guard run.takes(ring[position], credit, limit, out.freeCapacity) else { break rows }
                header.sequence = UInt32(truncatingIfNeeded: base + UInt64(position))
                markSent(&ring[position], &header, asksForAck && position + 1 == ring.count, now, in: &run)
                unsafe body.place.appendWhole(header, to: &out)
                position += 1
            case .messages(let messages):
                // Borrowed: to take each out is to count its references.
                let entries = messages.span
                var index = Int(base + UInt64(position) - rows[row].first)
                while index < entries.count {
                    guard run.takes(ring[position], credit, limit, out.freeCapacity) else { break rows }
                    header.sequence = UInt32(truncatingIfNeeded: base + UInt64(position))
                    markSent(&ring[position], &header, asksForAck && position + 1 == ring.count, now, in: &run)
                    unsafe entries[index].body.place.appendWhole(header, to: &out)
                    index += 1
                    position += 1
                }
            }
            row += 1
        }
        sentCount = position
        paidCount = position
        inFlightByteCount += run.byteCount - run.frameCount * FrameHeader.byteCount
        totals.creditUsed += run.cost
        return run
    }

    /// The frame goes out now, with this header.
    @inline(__always)
    private mutating func markSent(
        _ frame: inout SendStream.Frame, _ header: inout FrameHeader, _ asksForAck: Bool, _ now: Instant,
        in run: inout SendStream.Run
    ) {
        lastTransmission += 1
        frame.sentAt = now.nanoseconds
        frame.transmission = lastTransmission
        run.add(frame)
        header.type = frame.type
        if asksForAck { header.flags.insert(.ackNow) }
    }

    // MARK: Acknowledgement

    fileprivate mutating func acknowledge(cumulative: UInt64, _ totals: inout Totals) -> SendStream.Acknowledged {
        var result = SendStream.Acknowledged()
        guard let ring = frames.ownRing() else { return result }
        let count = Int(cumulative - totals.base) + 1
        var messages = 0
        var messageBytes = 0
        for position in 0..<count {
            let size = note(ring, position, in: &result)
            result.releasedByteCount += size
            guard ring[position].type == .data else {
                if ring[position].type == .request { requestFrameCount -= 1 }
                if ring[position].type.isCredited { requestByteCount -= size }
                continue
            }
            messages += 1
            messageBytes += size
        }
        // Not of the queue, which would copy a ring that is held here as well.
        ring.removeFirst(count)
        if ring.count == 0 { frames.releaseIfLarge() }
        totals.base += UInt64(count)
        rows.drop(before: totals.base, end: totals.base + UInt64(frames.count))
        byteCount -= result.releasedByteCount
        messageFrameCount -= messages
        messageByteCount -= messageBytes
        sentCount = max(sentCount - count, 0)
        paidCount -= count
        skipAcknowledged()
        dropStale(totals)
        return result
    }

    fileprivate mutating func acknowledge(
        range: ClosedRange<UInt64>, _ totals: Totals
    ) -> SendStream.Acknowledged {
        var result = SendStream.Acknowledged()
        guard let ring = frames.ownRing() else { return result }
        var position = Int(max(range.lowerBound, totals.base) - totals.base)
        while position <= Int(range.upperBound - totals.base) {
            if !ring[position].isAcknowledged {
                _ = note(ring, position, in: &result)
                ring[position].isAcknowledged = true
                ring[position].isLost = false
            }
            position += 1
        }
        skipAcknowledged()
        dropStale(totals)
        return result
    }

    /// Counts a frame that is acknowledged now, unless it was before; returns the bytes of its body.
    @inline(__always)
    private mutating func note(
        _ ring: Ring<SendStream.Frame>, _ position: Int, in result: inout SendStream.Acknowledged
    ) -> Int {
        let size = Int(ring[position].byteCount)
        guard !ring[position].isAcknowledged else { return size }
        result.frameCount += 1
        guard position < sentCount else { return size }
        result.largestSentAt = max(result.largestSentAt, ring[position].sentAt)
        highestAcknowledged = max(highestAcknowledged, ring[position].transmission)
        guard !ring[position].isLost else { return size }
        result.byteCount += size
        inFlightByteCount -= size
        return size
    }

    // MARK: Loss

    fileprivate mutating func loseFrames(sentBefore time: Instant, limit: Int, _ totals: Totals) -> SendStream.Lost {
        var lost = SendStream.Lost()
        var position = 0
        while position < sentCount, lost.frameCount < limit {
            let frame = frames[position]
            if !frame.isAcknowledged, !frame.isLost, frame.sentAt < time.nanoseconds {
                lose(totals.base + UInt64(position), in: &lost, totals)
            }
            position += 1
        }
        return lost
    }

    fileprivate mutating func loseOvertaken(_ totals: Totals) -> SendStream.Lost {
        var lost = SendStream.Lost()
        while let sequence = transmissions.first {
            let isCurrent = sequence >= totals.base && frame(sequence, totals).transmission == firstTransmission
            let isWaiting =
                isCurrent && !frame(sequence, totals).isAcknowledged && !frame(sequence, totals).isLost
            if isWaiting {
                guard firstTransmission + SendStream.reorderThreshold <= highestAcknowledged else { break }
                lose(sequence, in: &lost, totals)
            }
            _ = transmissions.popFirst()
            firstTransmission += 1
        }
        return lost
    }

    private mutating func lose(_ sequence: UInt64, in lost: inout SendStream.Lost, _ totals: Totals) {
        let position = Int(sequence - totals.base)
        frames[position].isLost = true
        inFlightByteCount -= Int(frames[position].byteCount)
        again.append(sequence)
        lost.frameCount += 1
        lost.byteCount += Int(frames[position].byteCount)
    }

    fileprivate mutating func rewind(_ totals: Totals) {
        for sequence in again where sequence >= totals.base { frames[Int(sequence - totals.base)].isLost = false }
        again.removeAll()
        transmissions.removeAll()
        firstTransmission = lastTransmission + 1
        highestAcknowledged = 0
        inFlightByteCount = 0
        sentCount = 0
        skipAcknowledged()
    }

    /// What the peer holds out of order, from this connection or one before, is not sent again (S-22).
    private mutating func skipAcknowledged() {
        while sentCount < paidCount, frames[sentCount].isAcknowledged { sentCount += 1 }
    }

    private mutating func dropStale(_ totals: Totals) {
        while let first = again.first, first < totals.base || !frame(first, totals).isLost { _ = again.popFirst() }
    }
}

extension SendStream.Totals {
    /// Credit that the session has left, in bytes.
    fileprivate var creditLeft: UInt64 { creditLimit - min(creditUsed, creditLimit) }
}

extension FrameType {
    /// Whether bodies of this type use credit: those that carry what applications say. The protocol's own frames are
    /// bounded by count (S-34).
    var isCredited: Bool {
        self == .data || self == .request || self == .response
    }
}
