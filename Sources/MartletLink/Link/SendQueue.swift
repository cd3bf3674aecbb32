import MartletWire

/// The unacknowledged frames of a `SendStream`, sent or not, and their state on the connection.
///
/// | part | frames |
/// |---|---|
/// | first `sentCount` | sent on this connection |
/// | first `chargedCount` | sent on any connection; credit is charged for them |
/// | the rest | not sent yet |
///
/// A frame in `lostSequences` was sent and taken for lost, and is sent before the rest (S-49).
struct SendQueue: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<SendQueue>()
    typealias Totals = SendStream.Totals

    /// The state of a frame.
    struct Frame: Sendable {
        /// The instant of the last transmission, in nanoseconds of the caller's clock.
        var sentAt: UInt64 = 0
        /// The number of the last transmission.
        var transmission: UInt64 = 0
        /// The size of the body as sent.
        var byteCount: UInt32
        var type: FrameType
        /// Whether the frame is a whole body that is written without a change.
        var isWhole: Bool
        var isAcknowledged = false
        /// Whether the frame counts as lost and is in `lostSequences`.
        var isLost = false

        /// The cost in credit of a whole frame, whose body is not compressed.
        @inline(__always)
        var wholeCost: UInt64 { type.isCredited ? UInt64(byteCount) : 0 }
    }

    /// Frames and bytes of bodies that are queued or unacknowledged.
    struct Backlog: Sendable {
        /// Bytes of all bodies, as sent.
        private(set) var byteCount = 0
        private(set) var messageFrameCount = 0
        private(set) var messageByteCount = 0
        private(set) var requestFrameCount = 0
        /// Bytes of the bodies of requests and responses.
        private(set) var requestByteCount = 0

        /// Adds frames of a type; negative counts remove them.
        @inline(__always)
        mutating func add(_ type: FrameType, frameCount: Int, byteCount: Int) {
            self.byteCount += byteCount
            if type == .data {
                messageFrameCount += frameCount
                messageByteCount += byteCount
            } else {
                if type == .request { requestFrameCount += frameCount }
                if type.isCredited { requestByteCount += byteCount }
            }
        }
    }

    private(set) var frames = Deque<Frame>()
    private var bodies = SendBatches()
    private(set) var sentCount = 0
    private(set) var chargedCount = 0
    /// Sequences to send again; some may have been acknowledged since.
    private var lostSequences = Deque<UInt64>()
    private(set) var backlog = Backlog()
    /// Bytes of bodies in flight on this connection: sent, neither acknowledged nor lost.
    private(set) var inFlightByteCount = 0
    /// Bytes of bodies of the first `sentCount` frames, on a carrier without order.
    private(set) var spanByteCount = 0
    /// Whether the link reserves credit for the rest of the message that is partly sent.
    private(set) var isReserved = false
    private let inPlace = InPlace()

    /// Sequences in the order in which they were sent on this connection, from transmission `firstTransmission` on;
    /// kept on carriers without order only.
    private var transmissions = Deque<UInt64>()
    private var firstTransmission: UInt64 = 1
    private var lastTransmission: UInt64 = 0
    private var highestAcknowledged: UInt64 = 0

    /// Whether no frame is queued, and nothing of the earlier ones has to be processed.
    var isEmpty: Bool { frames.isEmpty && lostSequences.isEmpty && transmissions.isEmpty }

    var hasUnsent: Bool { sentCount < frames.count || !lostSequences.isEmpty }

    /// Whether a condition applies to bodies that were not completely sent on this connection, or to any without one.
    func hasUnsent(
        isAttached: Bool, _ totals: Totals, where condition: (FrameType, SendBatches.Bodies) -> Bool
    ) -> Bool {
        let next = totals.base + UInt64(isAttached ? sentCount : 0)
        guard next < totals.base + UInt64(frames.count) else { return false }
        return (bodies.index(of: next)..<bodies.count).contains { index in
            let batch = bodies[index]
            return condition(frame(max(batch.first, next), totals).type, batch.bodies(from: next))
        }
    }

    func entry(_ sequence: UInt64, _ totals: Totals) -> SendStream.Entry {
        let (body, fragment) = bodies.body(of: sequence)
        return SendStream.Entry(body: body, fragment: fragment, type: frame(sequence, totals).type)
    }

    private func frame(_ sequence: UInt64, _ totals: Totals) -> Frame {
        frames[Int(sequence - totals.base)]
    }

    mutating func append(_ type: FrameType, _ body: EncodedBody, first: UInt64) {
        bodies.append(.fragments(body), first: first)
        let isWhole = body.isWhole
        frames.append(count: body.fragmentCount) {
            Frame(byteCount: UInt32(body.byteCount(ofFragment: $0)), type: type, isWhole: isWhole)
        }
        backlog.add(type, frameCount: body.fragmentCount, byteCount: body.byteCount)
    }

    mutating func append(_ messages: ArraySlice<LogEntry>, base: UInt64) -> Bool {
        // Access by index avoids reference counting of each message.
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
        bodies.append(.messages(messages), first: base + UInt64(frames.count))
        frames.append(count: frameCount) {
            let index = messages.startIndex + $0
            return Frame(
                byteCount: UInt32(messages[index].body.byteCount), type: .data, isWhole: messages[index].body.isWhole)
        }
        backlog.add(.data, frameCount: frameCount, byteCount: size)
        return true
    }

    func nextToSend(_ link: SendStream.LinkCredit, _ totals: Totals) -> UInt64? {
        if let first = lostSequences.first { return first }
        guard sentCount < frames.count else { return nil }
        guard !totals.losesOvertaken || sentCount == 0 || isNextHoldable(link) else { return nil }
        let next = totals.base + UInt64(sentCount)
        guard sentCount >= chargedCount else { return next }
        let entry = entry(next, totals)
        let cost = entry.cost
        guard cost <= totals.creditLeft else { return nil }
        if isReserved || entry.costToEnd <= link.available { return next }
        return (entry.fragment > 0 || entry.isLast || link.mayBeginUnreserved) && cost <= link.available ? next : nil
    }

    /// Whether the receiver can hold the next frame when those before it are lost (S-32).
    private func isNextHoldable(_ link: SendStream.LinkCredit) -> Bool {
        sentCount < ReceiveStream.maxHeldFrames
            && Int(frames[sentCount].byteCount) + ReceiveStream.heldFrameByteCount <= link.holdable
    }

    mutating func markSent(
        _ sequence: UInt64, at now: Instant, available: UInt64, _ totals: inout Totals
    ) -> SendStream.Sent? {
        let position = Int(sequence - totals.base)
        if lostSequences.first == sequence { _ = lostSequences.popFirst() }
        if position == sentCount {
            advance()
            skipAcknowledged()
        }
        lastTransmission += 1
        if totals.losesOvertaken { transmissions.append(sequence) }
        frames[position].sentAt = now.nanoseconds
        frames[position].transmission = lastTransmission
        frames[position].isLost = false
        inFlightByteCount += Int(frames[position].byteCount)
        dropStale(totals)
        guard position >= chargedCount else { return nil }
        chargedCount = position + 1
        let entry = entry(sequence, totals)
        totals.creditUsed += entry.cost
        isReserved = !entry.isLast && (isReserved || entry.costToEnd <= available)
        return SendStream.Sent(
            cost: entry.cost, isUnreserved: entry.type.isCredited && !entry.isLast && !isReserved)
    }

    mutating func writeBatch(
        _ common: FrameHeader, credit: UInt64, limit: Int, asksForAck: Bool, _ encoder: FrameEncoder,
        into out: inout OutputRawSpan, now: Instant, _ totals: inout Totals
    ) -> SendStream.Batch {
        var batch = SendStream.Batch()
        guard sentCount == chargedCount, sentCount < frames.count, lostSequences.isEmpty, !isReserved,
            !totals.losesOvertaken, let ring = frames.ownedRing
        else { return batch }
        let credit = min(credit, totals.creditLeft)
        let base = totals.base
        var header = common
        var position = sentCount
        var batchIndex = bodies.index(of: base + UInt64(position))
        batches: while position < ring.count {
            switch bodies[batchIndex].bodies {
            case .fragments(let body):
                guard batch.takes(ring[position], credit, limit, encoder.freeByteCount(in: out)) else { break batches }
                header.sequence = UInt32(truncatingIfNeeded: base + UInt64(position))
                markSent(&ring[position], &header, asksForAck && position + 1 == ring.count, now, in: &batch)
                body.appendWhole(header, encoder, to: &out)
                position += 1
            case .messages(let messages):
                // A span borrows the messages; a copy of each would count its references.
                let entries = messages.span
                var index = Int(base + UInt64(position) - bodies[batchIndex].first)
                while index < entries.count {
                    guard batch.takes(ring[position], credit, limit, encoder.freeByteCount(in: out)) else {
                        break batches
                    }
                    header.sequence = UInt32(truncatingIfNeeded: base + UInt64(position))
                    markSent(&ring[position], &header, asksForAck && position + 1 == ring.count, now, in: &batch)
                    entries[index].body.appendWhole(header, encoder, to: &out)
                    index += 1
                    position += 1
                }
            }
            batchIndex += 1
        }
        sentCount = position
        chargedCount = position
        inFlightByteCount += batch.byteCount - batch.frameCount * FrameHeader.byteCount
        totals.creditUsed += batch.cost
        return batch
    }

    /// Marks a frame of the batch as sent, and completes its header.
    @inline(__always)
    private mutating func markSent(
        _ frame: inout Frame, _ header: inout FrameHeader, _ asksForAck: Bool, _ now: Instant,
        in batch: inout SendStream.Batch
    ) {
        lastTransmission += 1
        frame.sentAt = now.nanoseconds
        frame.transmission = lastTransmission
        batch.add(frame)
        header.type = frame.type
        if asksForAck { header.flags.insert(.ackNow) }
    }

    // MARK: Acknowledgement

    mutating func acknowledge(cumulative: UInt64, _ totals: inout Totals) -> SendStream.Acknowledged {
        var result = SendStream.Acknowledged()
        guard let ring = frames.ownedRing else { return result }
        let count = Int(cumulative - totals.base) + 1
        for position in 0..<count {
            let size = note(ring, position, in: &result)
            result.releasedByteCount += size
            if totals.losesOvertaken, position < sentCount { spanByteCount -= size }
            backlog.add(ring[position].type, frameCount: -1, byteCount: -size)
        }
        // `frames.removeFirst` would copy the ring, which is also referenced here.
        ring.removeFirst(count)
        if ring.count == 0 { frames.releaseIfLarge() }
        totals.base += UInt64(count)
        bodies.drop(before: totals.base, end: totals.base + UInt64(frames.count))
        sentCount = max(sentCount - count, 0)
        chargedCount -= count
        skipAcknowledged()
        dropStale(totals)
        return result
    }

    mutating func acknowledge(
        range: ClosedRange<UInt64>, _ totals: Totals
    ) -> SendStream.Acknowledged {
        var result = SendStream.Acknowledged()
        guard let ring = frames.ownedRing else { return result }
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

    /// Counts a frame as acknowledged, unless it already was; returns the bytes of its body.
    @inline(__always)
    private mutating func note(
        _ ring: Ring<Frame>, _ position: Int, in result: inout SendStream.Acknowledged
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

    mutating func loseFrames(sentBefore time: Instant, limit: Int, _ totals: Totals) -> SendStream.Lost {
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

    mutating func loseOvertaken(sentBy time: Instant, _ totals: Totals) -> SendStream.Lost {
        var lost = SendStream.Lost()
        while let sequence = transmissions.first {
            let isCurrent = sequence >= totals.base && frame(sequence, totals).transmission == firstTransmission
            let isWaiting =
                isCurrent && !frame(sequence, totals).isAcknowledged && !frame(sequence, totals).isLost
            if isWaiting {
                guard firstTransmission + SendStream.reorderThreshold <= highestAcknowledged,
                    frame(sequence, totals).sentAt <= time.nanoseconds
                else { break }
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
        lostSequences.append(sequence)
        lost.frameCount += 1
        lost.byteCount += Int(frames[position].byteCount)
    }

    mutating func rewind(_ totals: Totals) {
        for sequence in lostSequences where sequence >= totals.base {
            frames[Int(sequence - totals.base)].isLost = false
        }
        lostSequences.removeAll()
        transmissions.removeAll()
        firstTransmission = lastTransmission + 1
        highestAcknowledged = 0
        inFlightByteCount = 0
        sentCount = 0
        spanByteCount = 0
        skipAcknowledged()
    }

    /// Frames that the peer holds out of order, from this connection or an earlier one, are not sent again (S-22).
    private mutating func skipAcknowledged() {
        while sentCount < chargedCount, frames[sentCount].isAcknowledged { advance() }
    }

    private mutating func advance() {
        spanByteCount += Int(frames[sentCount].byteCount)
        sentCount += 1
    }

    private mutating func dropStale(_ totals: Totals) {
        while let first = lostSequences.first, first < totals.base || !frame(first, totals).isLost {
            _ = lostSequences.popFirst()
        }
    }
}

extension SendStream.Totals {
    /// Credit that the session has left, in bytes.
    var creditLeft: UInt64 { creditLimit - min(creditUsed, creditLimit) }
}
