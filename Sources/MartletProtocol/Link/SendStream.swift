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

    private var frames = Deque<Frame>()
    private var rows = SendRows()
    /// The sequence of the first frame; sequences start at 1 (Specs/wire.md §3.5; W-11).
    private(set) var base: UInt64
    /// The sequence to send next on this connection.
    private(set) var next: UInt64
    /// One past the highest sequence ever sent on any connection: below it credit has been paid.
    private(set) var neverSent: UInt64
    /// Sequences to send again before anything new; some may have been acknowledged since (S-49).
    private var again = Deque<UInt64>()
    /// Bytes of bodies, as sent, that are queued or unacknowledged.
    private(set) var byteCount = 0
    /// Of these the messages: frames, and bytes of their bodies.
    private(set) var messageFrameCount = 0
    private(set) var messageByteCount = 0
    /// Frames of requests, and bytes of the bodies of requests and responses.
    private(set) var requestFrameCount = 0
    private(set) var requestByteCount = 0
    /// Bytes of bodies on their way on this connection: sent, neither acknowledged nor lost.
    private(set) var inFlightByteCount = 0
    /// Credit used so far, each frame counted once, and the absolute limit that the peer set.
    private(set) var creditUsed: UInt64 = 0
    private(set) var creditLimit: UInt64
    /// Whether the link keeps credit for the rest of the message that is partly sent.
    private var isReserved = false

    /// Sequences in the order in which they were sent on this connection, from transmission `firstTransmission` on;
    /// kept on carriers without order only.
    private var transmissions = Deque<UInt64>()
    private var firstTransmission: UInt64 = 1
    private var lastTransmission: UInt64 = 0
    private var highestAcknowledged: UInt64 = 0
    private var losesOvertaken = false

    /// A stream whose first frame has the sequence `first`.
    init(creditLimit: UInt64, first: UInt64 = 1) {
        self.creditLimit = creditLimit
        base = first
        next = first
        neverSent = first
    }

    var end: UInt64 { base + UInt64(frames.count) }
    var isEmpty: Bool { frames.isEmpty }
    var count: Int { frames.count }
    var hasUnacknowledged: Bool { next > base }
    /// Whether anything waits to be sent, be there credit for it or not.
    var hasUnsent: Bool { next < end || !again.isEmpty }
    /// The highest sequence that a peer may truthfully have received.
    var highestSent: UInt64 { neverSent - 1 }

    subscript(sequence: UInt64) -> Entry {
        let (body, fragment) = rows.body(of: sequence)
        return Entry(body: body, fragment: fragment, type: frame(sequence).type)
    }

    private func frame(_ sequence: UInt64) -> Frame {
        frames[Int(sequence - base)]
    }

    func hasRoom(for body: EncodedBody) -> Bool {
        frames.count + body.fragmentCount <= SendStream.maxEntries
    }

    mutating func append(_ type: FrameType, _ body: EncodedBody) {
        rows.append(.fragments(body), first: end)
        let isWhole = body.isWhole
        frames.append(count: body.fragmentCount) {
            Frame(byteCount: UInt32(body.byteCount(ofFragment: $0)), type: type, isWhole: isWhole)
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

    /// Appends messages of a room; false, and nothing is appended, when there is no room for all of them.
    mutating func append(_ messages: ArraySlice<LogEntry>) -> Bool {
        // By index: to hold a message is to count references that nobody needs.
        var frameCount = 0
        var size = 0
        for index in messages.indices {
            frameCount += messages[index].body.fragmentCount
            size += messages[index].body.byteCount
        }
        guard frames.count + frameCount <= SendStream.maxEntries else { return false }
        guard frameCount == messages.count else {
            for index in messages.indices { append(.data, messages[index].body) }
            return true
        }
        guard frameCount > 0 else { return true }
        rows.append(.messages(messages), first: end)
        frames.append(count: frameCount) {
            let index = messages.startIndex + $0
            return Frame(
                byteCount: UInt32(messages[index].body.byteCount), type: .data, isWhole: messages[index].body.isWhole)
        }
        byteCount += size
        messageFrameCount += frameCount
        messageByteCount += size
        return true
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
        if let first = again.first { return first }
        guard next < end else { return nil }
        // S-32: what the receiver could not hold behind a gap would be dropped and sent again.
        guard !losesOvertaken || next - base < UInt64(ReceiveStream.maxHeldFrames) else { return nil }
        guard next >= neverSent else { return next }
        let entry = self[next]
        let cost = entry.cost
        guard cost <= creditLimit - min(creditUsed, creditLimit) else { return nil }
        if isReserved || entry.costToEnd <= link.available { return next }
        return (entry.fragment > 0 || entry.isLast || link.mayBeginUnreserved) && cost <= link.available ? next : nil
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
        let position = Int(sequence - base)
        if again.first == sequence { _ = again.popFirst() }
        if sequence == next {
            next += 1
            skipAcknowledged()
        }
        lastTransmission += 1
        if losesOvertaken { transmissions.append(sequence) }
        frames[position].sentAt = now.nanoseconds
        frames[position].transmission = lastTransmission
        frames[position].isLost = false
        inFlightByteCount += Int(frames[position].byteCount)
        dropStale()
        guard sequence >= neverSent else { return nil }
        neverSent = sequence + 1
        let entry = self[sequence]
        creditUsed += entry.cost
        isReserved = !entry.isLast && (isReserved || entry.costToEnd <= available)
        return Sent(cost: entry.cost, isUnreserved: entry.type.isCredited && !entry.isLast && !isReserved)
    }

    /// What a run of frames came to.
    struct Run {
        var frameCount = 0
        /// Bytes of headers and bodies, as they are without packets.
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
        _ common: FrameHeader, credit: UInt64, limit: Int, asksForAck: Bool = false, _ encoder: FrameEncoder,
        into out: inout OutputRawSpan, now: Instant
    ) -> Run {
        var run = Run()
        guard next == neverSent, next < end, again.isEmpty, !isReserved, !losesOvertaken, let ring = frames.ownRing()
        else { return run }
        let credit = min(credit, creditLimit - min(creditUsed, creditLimit))
        var header = common
        var position = Int(next - base)
        var row = rows.index(of: next)
        rows: while position < ring.count {
            switch rows[row].bodies {
            case .fragments(let body):
                guard run.takes(ring[position], credit, limit, encoder.room(in: out)) else { break rows }
                header.sequence = UInt32(truncatingIfNeeded: base + UInt64(position))
                markSent(&ring[position], &header, asksForAck && position + 1 == ring.count, now, in: &run)
                body.appendWhole(header, encoder, to: &out)
                position += 1
            case .messages(let messages):
                // Borrowed: to take each out is to count its references.
                let entries = messages.span
                var index = Int(base + UInt64(position) - rows[row].first)
                while index < entries.count {
                    guard run.takes(ring[position], credit, limit, encoder.room(in: out)) else { break rows }
                    header.sequence = UInt32(truncatingIfNeeded: base + UInt64(position))
                    markSent(&ring[position], &header, asksForAck && position + 1 == ring.count, now, in: &run)
                    entries[index].body.appendWhole(header, encoder, to: &out)
                    index += 1
                    position += 1
                }
            }
            row += 1
        }
        next = base + UInt64(position)
        neverSent = next
        inFlightByteCount += run.byteCount - run.frameCount * FrameHeader.byteCount
        creditUsed += run.cost
        return run
    }

    /// The frame goes out now, with this header.
    @inline(__always)
    private mutating func markSent(
        _ frame: inout Frame, _ header: inout FrameHeader, _ asksForAck: Bool, _ now: Instant, in run: inout Run
    ) {
        lastTransmission += 1
        frame.sentAt = now.nanoseconds
        frame.transmission = lastTransmission
        run.add(frame)
        header.type = frame.type
        if asksForAck { header.flags.insert(.ackNow) }
    }

    /// Credit that the link keeps for the rest of the message that is partly sent.
    var reservedCredit: UInt64 { isReserved && neverSent < end ? self[neverSent].costToEnd : 0 }

    /// Whether frames that cost credit may not have arrived.
    var hasUnacknowledgedCredit: Bool {
        (base..<neverSent).contains { !frame($0).isAcknowledged && frame($0).type.isCredited }
    }

    mutating func raiseCreditLimit(to limit: UInt64) {
        creditLimit = max(creditLimit, limit)
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
        var result = Acknowledged()
        guard cumulative >= base, let ring = frames.ownRing() else { return result }
        let count = Int(cumulative - base) + 1
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
        base += UInt64(count)
        rows.drop(before: base, end: end)
        byteCount -= result.releasedByteCount
        messageFrameCount -= messages
        messageByteCount -= messageBytes
        next = max(next, base)
        skipAcknowledged()
        dropStale()
        return result
    }

    /// Ticks off a range behind a gap, and returns what had not been acknowledged before.
    mutating func acknowledge(range: ClosedRange<UInt64>) -> Acknowledged? {
        guard range.upperBound < neverSent else { return nil }
        var result = Acknowledged()
        guard let ring = frames.ownRing() else { return result }
        var sequence = max(range.lowerBound, base)
        while sequence <= range.upperBound {
            let position = Int(sequence - base)
            if !ring[position].isAcknowledged {
                _ = note(ring, position, in: &result)
                ring[position].isAcknowledged = true
                ring[position].isLost = false
            }
            sequence += 1
        }
        skipAcknowledged()
        dropStale()
        return result
    }

    /// Counts a frame that is acknowledged now, unless it was before; returns the bytes of its body.
    @inline(__always)
    private mutating func note(_ ring: Ring<Frame>, _ position: Int, in result: inout Acknowledged) -> Int {
        let size = Int(ring[position].byteCount)
        guard !ring[position].isAcknowledged else { return size }
        result.frameCount += 1
        guard base + UInt64(position) < next else { return size }
        result.largestSentAt = max(result.largestSentAt, ring[position].sentAt)
        highestAcknowledged = max(highestAcknowledged, ring[position].transmission)
        guard !ring[position].isLost else { return size }
        result.byteCount += size
        inFlightByteCount -= size
        return size
    }

    // MARK: Loss

    /// What was taken for lost: frames that go out again, and their bytes, which are no longer in flight.
    struct Lost: Equatable {
        var frameCount = 0
        var byteCount = 0
    }

    /// Declares frames lost that were sent on this connection before `time`, the oldest `limit` of them.
    mutating func loseFrames(sentBefore time: Instant, limit: Int) -> Lost {
        var lost = Lost()
        var sequence = base
        while sequence < next, lost.frameCount < limit {
            let frame = frame(sequence)
            if !frame.isAcknowledged, !frame.isLost, frame.sentAt < time.nanoseconds { lose(sequence, in: &lost) }
            sequence += 1
        }
        return lost
    }

    /// Declares transmissions lost that later ones have overtaken; only for carriers without order.
    mutating func loseOvertaken() -> Lost {
        var lost = Lost()
        while let sequence = transmissions.first {
            let isCurrent = sequence >= base && frame(sequence).transmission == firstTransmission
            let isWaiting = isCurrent && !frame(sequence).isAcknowledged && !frame(sequence).isLost
            if isWaiting {
                guard firstTransmission + SendStream.reorderThreshold <= highestAcknowledged else { break }
                lose(sequence, in: &lost)
            }
            _ = transmissions.popFirst()
            firstTransmission += 1
        }
        return lost
    }

    private mutating func lose(_ sequence: UInt64, in lost: inout Lost) {
        let position = Int(sequence - base)
        frames[position].isLost = true
        inFlightByteCount -= Int(frames[position].byteCount)
        again.append(sequence)
        lost.frameCount += 1
        lost.byteCount += Int(frames[position].byteCount)
    }

    /// Everything unacknowledged is to be sent again on the connection that begins.
    ///
    /// - Parameter losesOvertaken: the carrier may reorder frames, so what is overtaken may be lost.
    mutating func rewind(losesOvertaken: Bool) {
        for sequence in again where sequence >= base { frames[Int(sequence - base)].isLost = false }
        again.removeAll()
        transmissions.removeAll()
        firstTransmission = lastTransmission + 1
        highestAcknowledged = 0
        self.losesOvertaken = losesOvertaken
        inFlightByteCount = 0
        next = base
        skipAcknowledged()
    }

    /// What the peer holds out of order, from this connection or one before, is not sent again (S-22).
    private mutating func skipAcknowledged() {
        while next < neverSent, frame(next).isAcknowledged { next += 1 }
    }

    private mutating func dropStale() {
        while let first = again.first, first < base || !frame(first).isLost { _ = again.popFirst() }
    }

    // MARK: Rest

    /// Whether nothing is queued and nothing waits to be acknowledged.
    var isAtRest: Bool { frames.isEmpty && again.isEmpty && transmissions.isEmpty }

    /// What is left of a stream at rest.
    ///
    /// - Parameter windowByteCount: how much credit there mostly is.
    mutating func pass(_ packer: inout Packer, windowByteCount: Int) {
        packer.pass(&base)
        packer.pass(&creditUsed)
        packer.pass(&creditLimit, near: creditUsed + UInt64(windowByteCount))
        packer.pass(&isReserved)
        packer.pass(&firstTransmission, near: 1)
        packer.pass(&lastTransmission, near: base - 1)
        packer.pass(&highestAcknowledged, near: lastTransmission)
        packer.pass(&losesOvertaken)
        next = base
        neverSent = base
    }
}

extension FrameType {
    /// Whether bodies of this type use credit: those that carry what applications say. The protocol's own frames are
    /// bounded by count (S-34).
    var isCredited: Bool {
        self == .data || self == .request || self == .response
    }
}
