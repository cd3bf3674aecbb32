import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// The outgoing direction of a session, without a link around it.
@Suite struct SendStreamTests {
    private static let plenty = SendStream.LinkCredit(available: 1 << 40, mayBeginUnreserved: true)

    private func stream(
        _ count: Int, byteCount: Int = 100, type: FrameType = .data, first: UInt64 = 1, losesOvertaken: Bool = false
    ) -> SendStream {
        var stream = SendStream(creditLimit: 1 << 30, first: first)
        stream.rewind(losesOvertaken: losesOvertaken)
        for _ in 0..<count { stream.append(type, EncodedBody([UInt8](repeating: 1, count: byteCount))) }
        return stream
    }

    /// Sends all frames that may be sent, a millisecond apart, and returns their sequences.
    @discardableResult
    private func send(
        _ stream: inout SendStream, from time: Int64 = 1, limit: Int = .max,
        _ credit: SendStream.LinkCredit = SendStreamTests.plenty
    ) -> [UInt64] {
        var sent: [UInt64] = []
        while sent.count < limit, let sequence = stream.nextToSend(credit) {
            let now = Instant.zero + .milliseconds(time + Int64(sent.count))
            _ = stream.markSent(sequence, at: now, available: credit.available)
            sent.append(sequence)
        }
        return sent
    }

    @Test func `frames are sent in order and once, and removed when they are acknowledged`() {
        var stream = stream(5)
        #expect(send(&stream) == [1, 2, 3, 4, 5])
        #expect(stream.inFlightByteCount == 500 && stream.byteCount == 500)
        let part = stream.acknowledge(cumulative: 3)
        #expect(part?.byteCount == 300 && part?.frameCount == 3 && part?.releasedByteCount == 300)
        #expect(part?.largestSentAt == 3_000_000)
        #expect(stream.base == 4 && stream.count == 2 && stream.inFlightByteCount == 200)
        #expect(stream.acknowledge(cumulative: 3) == SendStream.Acknowledged())
        #expect(send(&stream).isEmpty)
        #expect(stream.acknowledge(cumulative: 5)?.frameCount == 2)
        #expect(stream.isEmpty && !stream.hasUnacknowledged && stream.byteCount == 0)
    }

    // W-50
    @Test func `an acknowledgement of a frame that was never sent is refused`() {
        var stream = stream(5)
        send(&stream, limit: 2)
        #expect(stream.acknowledge(cumulative: 3) == nil)
        #expect(stream.acknowledge(cumulative: .max) == nil)
        #expect(stream.acknowledge(range: 2...3) == nil)
        #expect(stream.acknowledge(range: 3...(.max)) == nil)
        #expect(stream.count == 5 && stream.hasUnacknowledged)
    }

    // S-22
    @Test func `a range is acknowledged once, and not sent again on the next connection`() {
        var stream = stream(6)
        send(&stream)
        #expect(stream.acknowledge(range: 3...4)?.byteCount == 200)
        #expect(stream.acknowledge(range: 3...4) == SendStream.Acknowledged())
        #expect(stream.acknowledge(range: 1...2)?.byteCount == 200)
        #expect(stream.inFlightByteCount == 200)
        stream.rewind(losesOvertaken: false)
        #expect(stream.inFlightByteCount == 0)
        #expect(send(&stream) == [5, 6])
        let part = stream.acknowledge(cumulative: 6)
        #expect(part?.byteCount == 200 && part?.frameCount == 2 && part?.releasedByteCount == 600)
    }

    // S-23
    @Test func `an old acknowledgement that arrives late changes nothing`() {
        var stream = stream(8, losesOvertaken: true)
        send(&stream)
        _ = stream.acknowledge(cumulative: 6)
        #expect(stream.acknowledge(cumulative: 2) == SendStream.Acknowledged())
        #expect(stream.acknowledge(range: 4...5) == SendStream.Acknowledged())
        #expect(stream.loseOvertaken(sentBy: .distantFuture) == SendStream.Lost())
        #expect(stream.base == 7)
    }

    @Test func `a resume can acknowledge frames beyond those of the current flight`() {
        var stream = stream(5)
        send(&stream)
        stream.rewind(losesOvertaken: false)
        send(&stream, limit: 1)
        let part = stream.acknowledge(cumulative: 4)
        #expect(part?.frameCount == 4 && part?.byteCount == 100 && part?.releasedByteCount == 400)
        #expect(stream.inFlightByteCount == 0)
        #expect(send(&stream) == [5])
    }

    // MARK: Loss

    // S-32
    @Test func `a transmission is lost when one three later is acknowledged`() {
        var stream = stream(10, losesOvertaken: true)
        send(&stream)
        _ = stream.acknowledge(range: 3...3)
        #expect(stream.loseOvertaken(sentBy: .distantFuture) == SendStream.Lost())
        _ = stream.acknowledge(range: 4...4)
        #expect(stream.loseOvertaken(sentBy: .distantFuture) == SendStream.Lost(frameCount: 1, byteCount: 100))
        _ = stream.acknowledge(range: 5...6)
        #expect(stream.loseOvertaken(sentBy: .distantFuture) == SendStream.Lost(frameCount: 1, byteCount: 100))
        #expect(stream.inFlightByteCount == 400)
        #expect(send(&stream, from: 20) == [1, 2])
        #expect(stream.inFlightByteCount == 600)
    }

    // S-32
    @Test func `an overtaken transmission is lost when it was sent by the given time, and not before`() {
        var stream = stream(10, losesOvertaken: true)
        send(&stream)
        _ = stream.acknowledge(range: 6...10)
        let none = stream.loseOvertaken(sentBy: .zero + .microseconds(999))
        let first = stream.loseOvertaken(sentBy: .zero + .milliseconds(1))
        let others = stream.loseOvertaken(sentBy: .zero + .milliseconds(5))
        #expect(none.frameCount == 0 && first.frameCount == 1 && others.frameCount == 4)
    }

    // S-32
    @Test func `a retransmission can be lost like a first transmission`() {
        var stream = stream(12, losesOvertaken: true)
        send(&stream, limit: 6)
        _ = stream.acknowledge(range: 2...6)
        #expect(stream.loseOvertaken(sentBy: .distantFuture).frameCount == 1)
        #expect(send(&stream, limit: 1) == [1])
        _ = stream.acknowledge(range: 2...6)
        #expect(stream.loseOvertaken(sentBy: .distantFuture).frameCount == 0)
        send(&stream, limit: 4)
        _ = stream.acknowledge(range: 7...8)
        #expect(stream.loseOvertaken(sentBy: .distantFuture).frameCount == 0)
        _ = stream.acknowledge(range: 9...9)
        #expect(stream.loseOvertaken(sentBy: .distantFuture).frameCount == 1)
        #expect(send(&stream, limit: 1) == [1])
    }

    @Test func `each lost frame is sent again once, unless it had arrived`() {
        var stream = stream(12, losesOvertaken: true)
        send(&stream)
        #expect(stream.loseFrames(sentBefore: .zero + .milliseconds(3), limit: 9).frameCount == 2)
        #expect(stream.loseFrames(sentBefore: .zero + .milliseconds(3), limit: 9).frameCount == 0)
        _ = stream.acknowledge(range: 8...9)
        #expect(stream.loseOvertaken(sentBy: .distantFuture).frameCount == 4)
        _ = stream.acknowledge(cumulative: 3)
        _ = stream.acknowledge(range: 5...5)
        #expect(send(&stream) == [4, 6])
    }

    // S-27
    @Test func `the timer takes a bounded number of frames for lost, the oldest first`() {
        var stream = stream(40)
        send(&stream)
        #expect(stream.loseFrames(sentBefore: .zero + .seconds(1), limit: 16).frameCount == 16)
        #expect(stream.inFlightByteCount == 2400)
        #expect(send(&stream) == Array(1...16))
    }

    @Test func `a carrier that keeps order records no transmissions`() {
        var stream = stream(10)
        send(&stream)
        _ = stream.acknowledge(range: 8...10)
        #expect(stream.loseOvertaken(sentBy: .distantFuture) == SendStream.Lost())
    }

    @Test func `streams near the end of 32 bits lose and retransmit like any other`() {
        let first = UInt64(UInt32.max) - 3
        var stream = stream(10, first: first, losesOvertaken: true)
        #expect(send(&stream) == Array(first..<first + 10))
        _ = stream.acknowledge(cumulative: first + 1)
        _ = stream.acknowledge(range: first + 5...first + 9)
        #expect(stream.loseOvertaken(sentBy: .distantFuture).frameCount == 3)
        #expect(send(&stream) == [first + 2, first + 3, first + 4])
        #expect(stream.acknowledge(cumulative: first + 9)?.frameCount == 3)
    }

    @Test func `losing every second of 1,024 frames in flight sends each lost frame again once`() {
        var stream = stream(SendStream.maxEntries, byteCount: 0, losesOvertaken: true)
        send(&stream)
        // Every second frame is lost, and each acknowledgement names one frame more.
        for sequence in stride(from: 2 as UInt64, through: 1024, by: 2) {
            _ = stream.acknowledge(range: sequence...sequence)
            _ = stream.loseOvertaken(sentBy: .distantFuture)
        }
        #expect(send(&stream).count == 511)
    }

    // S-32
    @Test func `a carrier without order gets no frame 1,024 or more above the lowest unacknowledged one`() {
        var stream = stream(3000, byteCount: 0, losesOvertaken: true)
        #expect(send(&stream) == Array(1...1024))
        _ = stream.acknowledge(range: 2...1024)
        #expect(send(&stream).isEmpty)
        _ = stream.acknowledge(cumulative: 1024)
        #expect(send(&stream) == Array(1025...2048))
        stream.rewind(losesOvertaken: true)
        #expect(send(&stream) == Array(1025...2048))
    }

    // S-31, S-32
    @Test func `a carrier without order gets no frame that the receiver cannot hold behind a gap`() {
        var stream = stream(10, byteCount: 100, losesOvertaken: true)
        var credit = SendStreamTests.plenty
        credit.holdable = 291
        #expect(send(&stream, credit) == [1])
        #expect(stream.heldByteCount == 292)
        credit.holdable = 292
        #expect(send(&stream, limit: 2, credit) == [2, 3])
        #expect(stream.heldByteCount == 876)
        _ = stream.acknowledge(range: 3...3)
        #expect(stream.heldByteCount == 876)
        _ = stream.acknowledge(cumulative: 2)
        #expect(stream.heldByteCount == 292)
        stream.rewind(losesOvertaken: true)
        #expect(stream.heldByteCount == 292)
    }

    // S-31
    @Test func `a carrier that keeps order gets every frame of a full queue`() {
        var stream = stream(SendStream.maxEntries, byteCount: 0)
        #expect(send(&stream).count == SendStream.maxEntries)
    }

    // MARK: Credit

    // S-34, S-35
    @Test func `credit is used once for each frame, in bytes before compression`() {
        let deflater = Deflater()
        var stream = SendStream(creditLimit: 50_000)
        let body = EncodedBody(compressing: [UInt8](repeating: 9, count: 40_000), with: deflater)
        #expect(body.bytes.count < 2000)
        stream.append(.data, body)
        stream.append(.receipt, EncodedBody([UInt8](repeating: 1, count: 300)))
        stream.append(.data, body)
        #expect(send(&stream) == [1, 2, 3, 4])
        #expect(stream.creditUsed == 40_000)
        stream.rewind(losesOvertaken: false)
        #expect(send(&stream) == [1, 2, 3, 4])
        #expect(stream.creditUsed == 40_000)
        stream.raiseCreditLimit(to: 60_000)
        stream.raiseCreditLimit(to: 10)
        #expect(send(&stream) == [5])
        #expect(stream.creditUsed == 40_000 + 16_384)
        #expect(stream.hasUnacknowledgedCredit == true)
        _ = stream.acknowledge(cumulative: 5)
        #expect(stream.hasUnacknowledgedCredit == false)
    }

    // S-40
    @Test func `a message reserves the link's credit for its rest when the credit covers all of it`() {
        var stream = SendStream(creditLimit: 1 << 20)
        stream.append(.data, EncodedBody([UInt8](repeating: 1, count: 40_000)))
        let credit = SendStream.LinkCredit(available: 40_000, mayBeginUnreserved: false)
        #expect(stream.nextToSend(credit) == 1)
        #expect(
            stream.markSent(1, at: .zero, available: 40_000) == SendStream.Sent(cost: 16_384, isUnreserved: false))
        #expect(stream.reservedCredit == 40_000 - 16_384)
        let none = SendStream.LinkCredit(available: 0, mayBeginUnreserved: false)
        #expect(send(&stream, none) == [2, 3])
        #expect(stream.reservedCredit == 0)
    }

    // S-40
    @Test func `one message at a time may begin without reserved credit, and continues with new credit`() {
        var stream = SendStream(creditLimit: 1 << 20)
        stream.append(.data, EncodedBody([UInt8](repeating: 1, count: 40_000)))
        stream.append(.data, EncodedBody([UInt8](repeating: 1, count: 10)))
        #expect(stream.nextToSend(SendStream.LinkCredit(available: 39_999, mayBeginUnreserved: false)) == nil)
        #expect(stream.nextToSend(SendStream.LinkCredit(available: 39_999, mayBeginUnreserved: true)) == 1)
        #expect(stream.markSent(1, at: .zero, available: 39_999) == SendStream.Sent(cost: 16_384, isUnreserved: true))
        #expect(stream.reservedCredit == 0)
        #expect(stream.nextToSend(SendStream.LinkCredit(available: 16_383, mayBeginUnreserved: false)) == nil)
        #expect(stream.nextToSend(SendStream.LinkCredit(available: 16_384, mayBeginUnreserved: false)) == 2)
        #expect(stream.markSent(2, at: .zero, available: 30_000) == SendStream.Sent(cost: 16_384, isUnreserved: false))
        #expect(stream.reservedCredit == 40_000 - 2 * 16_384)
    }

    @Test func `a session's queue is bounded by frames`() {
        var stream = stream(SendStream.maxEntries - 1)
        #expect(stream.hasRoom(for: EncodedBody([1])) == true)
        #expect(stream.hasRoom(for: EncodedBody([UInt8](repeating: 1, count: 20_000))) == false)
        stream.append(.data, EncodedBody([1]))
        #expect(stream.hasRoom(for: EncodedBody([1])) == false)
        #expect(stream.highestSent == 0 && stream.hasUnsent)
    }

    // MARK: Batches

    private func writeBatch(
        _ stream: inout SendStream, credit: UInt64 = 1 << 40, limit: Int = .max, asksForAck: Bool = false,
        room: Int = 1 << 16
    ) -> (batch: SendStream.Batch, headers: [FrameHeader]) {
        let header = FrameHeader(type: .ping, flags: .reliable, session: .first)
        var batch = SendStream.Batch()
        let bytes = [UInt8](capacity: room) { out in
            batch = stream.writeBatch(
                header, credit: credit, limit: limit, asksForAck: asksForAck, .plain, into: &out,
                now: .zero + .milliseconds(1))
        }
        var headers: [FrameHeader] = []
        var framer = Framer(maxBodyByteCount: 1 << 20)
        let consumed = try? framer.consume(bytes.rawBytes) { header, _ in
            headers.append(header)
            return .proceed
        }
        #expect(consumed == bytes.count && bytes.count == batch.byteCount && headers.count == batch.frameCount)
        return (batch, headers)
    }

    @Test(arguments: [0, 250, 299, 300, 10_000] as [UInt64])
    func `a batch has the effects of its frames written one by one`(credit: UInt64) {
        var fast = stream(6)
        fast.append(.receipt, EncodedBody([7]))
        var slow = stream(6)
        slow.append(.receipt, EncodedBody([7]))
        let (batch, headers) = writeBatch(&fast, credit: credit)
        var left = credit
        while let sequence = slow.nextToSend(.init(available: left, mayBeginUnreserved: false)) {
            left -= slow.markSent(sequence, at: .zero + .milliseconds(1), available: left)?.cost ?? 0
        }
        #expect(headers.map(\.sequence) == (0..<headers.count).map { UInt32($0 + 1) })
        #expect(headers.allSatisfy { $0.type == ($0.sequence == 7 ? .receipt : .data) && $0.session == .first })
        #expect(batch.cost == credit - left)
        #expect(fast.next == slow.next && fast.neverSent == slow.neverSent && fast.creditUsed == slow.creditUsed)
        #expect(fast.inFlightByteCount == slow.inFlightByteCount)
        let acknowledged = fast.acknowledge(cumulative: fast.highestSent)
        #expect(acknowledged == slow.acknowledge(cumulative: slow.highestSent))
        #expect(fast.byteCount == slow.byteCount)
    }

    // S-20
    @Test func `the last frame of the queue requests an acknowledgement where the engine waits for one`() {
        var stream = stream(5)
        let first = writeBatch(&stream, limit: 1, asksForAck: true).headers
        let others = writeBatch(&stream, asksForAck: true).headers
        #expect(first.count == 1 && others.count == 4)
        #expect((first + others).map { $0.flags.contains(.ackNow) } == [false, false, false, false, true])
    }

    @Test func `a batch ends at its limit, at the end of the room, and before a fragment`() {
        var stream = stream(5)
        #expect(writeBatch(&stream, limit: 0).batch.frameCount == 0)
        #expect(writeBatch(&stream, limit: 1).batch.frameCount == 1)
        #expect(writeBatch(&stream, limit: 129).batch.frameCount == 2)
        #expect(writeBatch(&stream, room: 255).batch.frameCount == 1)
        stream.append(.data, EncodedBody([UInt8](repeating: 1, count: 40_000)))
        #expect(writeBatch(&stream).headers.map(\.sequence) == [5])
        #expect(writeBatch(&stream).batch.frameCount == 0 && stream.nextToSend(SendStreamTests.plenty) == 6)
    }

    @Test func `retransmissions, and frames on a carrier without order, are not sent in batches`() {
        var again = stream(3)
        send(&again)
        again.rewind(losesOvertaken: false)
        #expect(writeBatch(&again).batch.frameCount == 0)
        var unordered = stream(3, losesOvertaken: true)
        #expect(writeBatch(&unordered).batch.frameCount == 0)
    }

    // S-31
    @Test func `messages of a room are queued all or none`() {
        func entries(_ count: Int) -> [LogEntry] {
            (1...UInt64(count)).map {
                LogEntry(
                    offset: $0, sender: .alice, device: DeviceID(rawValue: 1), counter: $0, acceptedAt: 0,
                    body: EncodedBody([1, 2]))
            }
        }
        var stream = stream(SendStream.maxEntries - 2)
        let tooMany = stream.append(entries(3)[...])
        let fitting = stream.append(entries(3)[1...])
        #expect(!tooMany && fitting)
        #expect(stream.count == SendStream.maxEntries && stream.backlog.messageFrameCount == stream.count)
    }
}
