import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// The incoming direction of a session, without a link around it.
@Suite struct ReceiveStreamTests {
    private func accept(
        _ stream: inout ReceiveStream, _ sequence: UInt64, _ body: [UInt8] = [1], type: FrameType = .data,
        hasMore: Bool = false, isInPlace: Bool = true, heldRoom: Int = 1 << 20
    ) throws(LinkError) -> ReceiveStream.Arrival {
        try stream.accept(
            sequence, type: type, hasMore: hasMore, plain: body.rawBytes, isInPlace: isInPlace, heldRoom: heldRoom)
    }

    private func stream(first: UInt64 = 1, window: Int = 1 << 16) -> ReceiveStream {
        ReceiveStream(windowByteCount: window, maxMessageByteCount: 1 << 20, first: first)
    }

    private func drain(_ stream: inout ReceiveStream) -> [[UInt8]] {
        var bodies: [[UInt8]] = []
        while let frame = stream.popReady() { bodies.append(frame.body) }
        return bodies
    }

    // W-14
    @Test func `the next frame is delivered in place, and a duplicate is dropped`() throws {
        var stream = stream()
        #expect(try accept(&stream, 1) == .deliver)
        #expect(try accept(&stream, 1) == .duplicate)
        #expect(stream.cumulative == 1 && stream.creditReceived == 1 && stream.creditDelivered == 1)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `takeNext accepts the frames that accept delivers at once, with the same state after them`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func state(_ stream: borrowing ReceiveStream) -> [UInt64] {
            [
                stream.expected, stream.creditLimit, stream.creditReceived, stream.creditDelivered,
                stream.creditReleased, UInt64(stream.heldByteCount), UInt64(stream.assemblingByteCount),
                stream.hasReady ? 1 : 0,
            ] + stream.ranges.flatMap { [$0.lowerBound, $0.upperBound] }
        }
        func begun(first: UInt64) -> ReceiveStream {
            ReceiveStream(windowByteCount: 300, maxMessageByteCount: 30, first: first)
        }
        // Two streams receive the same frames. Only `short` takes some of them by `takeNext`.
        var stream = begun(first: .max >> 32 - 50)
        var short = begun(first: .max >> 32 - 50)
        var taken = 0
        for _ in 0..<200 {
            // Sometimes a message that is too long, a repetition, or a frame beyond a gap.
            let body = [UInt8](repeating: 1, count: Int(random.next() % 50 == 0 ? 31 : random.next() % 31))
            let sequence = random.next() % 8 > 0 ? stream.expected : stream.expected + 1 - random.next() % 3
            let isNext = short.takeNext(low: UInt32(truncatingIfNeeded: sequence), byteCount: body.count)
            let arrival = try? accept(&stream, sequence, body)
            #expect(isNext == (arrival == .deliver))
            if !isNext { #expect((try? accept(&short, sequence, body)) == arrival) }
            #expect(state(short) == state(stream))
            taken += isNext ? 1 : 0
            // A fault ends the session.
            if arrival == nil {
                let expected = stream.expected
                stream = begun(first: expected)
                short = begun(first: expected)
            }
            while let frame = stream.popReady() { #expect(short.popReady() == frame) }
            if random.next() % 4 == 0 {
                let byteCount = Int(random.next() % 400)
                #expect(stream.release(byteCount) == short.release(byteCount))
                stream.refreshCredit()
                short.refreshCredit()
            }
        }
        #expect(taken > 50)
    }

    // S-18
    @Test func `frames behind a gap are held and delivered in order`() throws {
        var stream = stream()
        #expect(try accept(&stream, 3, [3]) == .held)
        #expect(try accept(&stream, 3, [3]) == .duplicate)
        #expect(try accept(&stream, 5, [5]) == .held)
        #expect(stream.hasGap && stream.ranges == [3...3, 5...5])
        #expect(stream.heldByteCount == 2 + 2 * ReceiveStream.heldFrameByteCount)
        #expect(try accept(&stream, 1, [1]) == .ready)
        #expect(try accept(&stream, 2, [2]) == .ready)
        #expect(drain(&stream) == [[1], [2], [3]])
        #expect(stream.ranges == [5...5])
        #expect(try accept(&stream, 4, [4]) == .ready)
        #expect(drain(&stream) == [[4], [5]])
        #expect(!stream.hasGap && stream.ranges.isEmpty && stream.heldByteCount == 0 && stream.cumulative == 5)
        #expect(try accept(&stream, 6) == .deliver)
    }

    // W-22
    @Test func `fragments that arrive in any order are joined`() throws {
        var stream = stream()
        #expect(try accept(&stream, 2, [2], hasMore: true) == .held)
        #expect(try accept(&stream, 3, [3]) == .held)
        #expect(try accept(&stream, 1, [1], hasMore: true) == .ready)
        #expect(stream.popReady() == OrderedFrame(type: .data, body: [1, 2, 3], creditByteCount: 3))
        #expect(try accept(&stream, 4, [4], hasMore: true) == .ready)
        #expect(stream.popReady() == nil && stream.assemblingByteCount == 1)
        #expect(try accept(&stream, 5, [5]) == .ready)
        #expect(drain(&stream) == [[4, 5]])
        #expect(try accept(&stream, 6, isInPlace: false) == .ready)
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func `reordered and duplicated frames are delivered in order and once`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        // Streams begin near the end of 32 bits, so that the low bits wrap around.
        let first = UInt64(UInt32.max) - random.next() % 100
        var stream = stream(first: first)
        let frames = (0..<200).map { (sequence: first + $0, body: [UInt8(truncatingIfNeeded: $0)]) }
        var coming = frames.flatMap { [$0, $0] }
        coming.sort { $0.sequence / 16 < $1.sequence / 16 }
        coming.shuffleWithin(40, &random)
        var out: [[UInt8]] = []
        for frame in coming {
            let found = stream.sequence(low: UInt32(truncatingIfNeeded: frame.sequence))
            let sequence = try #require(found)
            #expect(sequence == frame.sequence)
            let arrival = try accept(&stream, sequence, frame.body)
            if arrival == .deliver { out.append(frame.body) }
            out += drain(&stream)
            // Ranges contain exactly the held frames: ascending, separate, not adjacent to the cumulative sequence.
            #expect(stream.ranges.allSatisfy { $0.lowerBound > stream.expected })
            #expect(zip(stream.ranges, stream.ranges.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
        }
        #expect(out == frames.map(\.body))
        #expect(stream.cumulative == first + 199)
    }

    // W-12, S-17
    @Test func `the low 32 bits give the nearest sequence, and none below 1`() {
        let round = UInt64(1) << 32
        #expect(stream().sequence(low: 1) == 1)
        #expect(stream().sequence(low: 0) == nil)
        #expect(stream().sequence(low: .max) == nil)
        #expect(stream(first: round).sequence(low: 0) == round)
        #expect(stream(first: round).sequence(low: .max) == round - 1)
        #expect(stream(first: round - 1).sequence(low: 1) == round + 1)
        #expect(stream(first: 3 * round + 5).sequence(low: 0x7FFF_FFFF) == 3 * round + 0x7FFF_FFFF)
        #expect(stream(first: 3 * round + 5).sequence(low: 0xFFFF_FFF0) == 3 * round - 16)
    }

    // S-42, Specs/hostile.md row 41
    @Test func `a held frame of another type than the incomplete message is consumed as a fault`() throws {
        var stream = stream()
        #expect(try accept(&stream, 3, [], type: .suspend) == .held)
        #expect(try accept(&stream, 4, [4]) == .held)
        #expect(try accept(&stream, 2, [2], hasMore: true) == .held)
        #expect(throws: LinkError.peer(.protocolViolation)) { try accept(&stream, 1, [1], hasMore: true) }
        #expect(stream.cumulative == 4 && stream.ranges == [] && stream.heldByteCount == 0)
        #expect(drain(&stream) == [[4]])
        #expect(try accept(&stream, 5) == .deliver)
    }

    // S-42, Specs/hostile.md row 41
    @Test func `a faulty frame that closes a gap releases the frames behind it`() throws {
        var stream = stream()
        #expect(try accept(&stream, 1, [1], hasMore: true) == .ready)
        #expect(try accept(&stream, 3, [3]) == .held)
        #expect(throws: LinkError.peer(.protocolViolation)) { try accept(&stream, 2, [2], type: .request) }
        #expect(stream.cumulative == 3 && stream.ranges == [])
        #expect(drain(&stream) == [[3]])
    }

    // S-21, Specs/hostile.md row 41
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `frames of mixed types in any order leave an acknowledgement that can be written`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var stream = stream()
        let frames = (1...40).map { _ in
            (
                type: [FrameType.data, .data, .request, .suspend].randomElement(using: &random)!,
                hasMore: random.happens(perMille: 300)
            )
        }
        var faultCount = 0
        for sequence in (1...40).shuffled(using: &random) {
            let frame = frames[sequence - 1]
            do {
                _ = try accept(&stream, UInt64(sequence), [1], type: frame.type, hasMore: frame.hasMore)
            } catch {
                #expect(error == .peer(.protocolViolation))
                faultCount += 1
            }
            let ack = SessionAck(
                session: .control, cumulative: stream.cumulative, creditLimit: stream.creditLimit,
                ranges: stream.ranges)
            #expect(ack.ranges.isEmpty == !stream.hasGap)
        }
        #expect(stream.cumulative == 40 && stream.heldByteCount == 0)
        #expect(faultCount > 0)
    }

    // W-14
    @Test func `a sequence beyond the window is a fault of the peer`() throws {
        var stream = stream()
        #expect(try accept(&stream, 8192) == .held)
        #expect(throws: LinkError.peer(.outOfWindow)) { try accept(&stream, 8193) }
    }

    // S-18, S-31
    @Test func `frames beyond the bound of held frames are dropped`() throws {
        var stream = stream()
        for sequence in 2...1025 as ClosedRange<UInt64> { #expect(try accept(&stream, sequence, []) == .held) }
        #expect(try accept(&stream, 1026, []) == .dropped)
        #expect(stream.ranges == [2...1025])
        var tight = self.stream()
        #expect(try accept(&tight, 2, [1, 2], heldRoom: 1 + ReceiveStream.heldFrameByteCount) == .dropped)
        #expect(tight.creditReceived == 0)
        #expect(try accept(&tight, 2, [1, 2], heldRoom: 2 + ReceiveStream.heldFrameByteCount) == .held)
        #expect(tight.creditReceived == 2)
    }

    // S-36
    @Test func `credit is charged at arrival, refused beyond the limit, and released up to the delivered bytes`() throws
    {
        var stream = stream(window: 100)
        #expect(try accept(&stream, 2, [UInt8](repeating: 0, count: 60)) == .held)
        #expect(throws: LinkError.peer(.creditExceeded)) {
            try accept(&stream, 1, [UInt8](repeating: 0, count: 41))
        }
        #expect(stream.cumulative == 0 && stream.creditReceived == 60)
        #expect(try accept(&stream, 1, [UInt8](repeating: 0, count: 40)) == .ready)
        #expect(stream.release(1000) == 0)
        #expect(stream.popReady()?.creditByteCount == 40)
        #expect(stream.release(1000) == 40)
        #expect(try accept(&stream, 3, [UInt8](repeating: 0, count: 900), type: .receipt) == .ready)
        #expect(stream.popReady()?.creditByteCount == 60)
        #expect(stream.popReady()?.creditByteCount == 0)
        #expect(stream.release(59) == 59)
        #expect(stream.creditReceived == 100 && stream.creditReleased == 99)
    }

    // S-39
    @Test func `credit is announced in steps of half a window, or when all of it is released`() throws {
        var stream = stream(window: 160)
        for sequence in 1...16 as ClosedRange<UInt64> {
            _ = try accept(&stream, sequence, [UInt8](repeating: 0, count: 10))
        }
        _ = stream.release(79)
        #expect(stream.wantsAnnouncement == false)
        _ = stream.release(1)
        #expect(stream.wantsAnnouncement == true)
        stream.refreshCredit()
        #expect(stream.creditLimit == 240 && !stream.wantsAnnouncement)
        _ = stream.release(70)
        #expect(stream.wantsAnnouncement == false)
        _ = stream.release(10)
        #expect(stream.wantsAnnouncement == true)
        stream.refreshCredit()
        _ = try accept(&stream, 17, [UInt8](repeating: 0, count: 10))
        _ = stream.release(10)
        #expect(stream.wantsAnnouncement == false)
    }

    // S-37
    @Test func `an incomplete message extends the window by its received bytes`() throws {
        var stream = stream(window: 100)
        _ = try accept(&stream, 1, [UInt8](repeating: 0, count: 100), hasMore: true)
        stream.refreshCredit()
        #expect(stream.creditLimit == 200)
        _ = try accept(&stream, 2, [UInt8](repeating: 0, count: 100), hasMore: false)
        stream.refreshCredit()
        #expect(stream.creditLimit == 200)
        #expect(stream.popReady()?.body.count == 200)
        #expect(stream.release(200) == 200)
        stream.refreshCredit()
        #expect(stream.creditLimit == 300)
    }

    @Test func `a window grows with the negotiated limits, and never shrinks`() throws {
        var stream = stream(window: 100)
        stream.raiseWindow(to: 300, maxMessageByteCount: 400)
        #expect(stream.creditLimit == 300)
        stream.raiseWindow(to: 50, maxMessageByteCount: 400)
        #expect(stream.creditLimit == 300)
        #expect(throws: LinkError.session(.messageTooLarge)) {
            stream.raiseWindow(to: 1000, maxMessageByteCount: 400)
            _ = try accept(&stream, 1, [UInt8](repeating: 0, count: 401))
        }
    }
}

extension Array {
    /// Moves elements at random, none further than `distance`.
    fileprivate mutating func shuffleWithin(_ distance: Int, _ random: inout SeededRandom) {
        for start in stride(from: 0, to: count, by: distance) {
            self[start..<Swift.min(start + distance, count)].shuffle(using: &random)
        }
    }
}
