import MartletWire
import Testing

/// The split of a stream into pieces does not change the frames.
@Suite struct FramerSplitTests {
    @Test func `every split into two pieces gives the same frames`() throws {
        let stream = try FrameStream(seed: 10, bodyByteCounts: [0, 1, 5, 36, 64, 0, 0, 100, 27, 28, 29])
        for cut in 0...stream.bytes.count {
            var framer = Framer(maxBodyByteCount: 128)
            let frames = try framer.frames(from: stream.bytes, cutAfter: [cut])
            #expect(frames == stream.frames, "cut after \(cut)")
            try framer.finish()
        }
    }

    @Test func `a split into single bytes gives the same frames`() throws {
        let stream = try FrameStream(seed: 11, bodyByteCounts: [0, 300, 1, 2, 0, 64, 63, 65, 17_000, 3])
        var framer = Framer(maxBodyByteCount: 1 << 20)
        let frames = try framer.frames(
            from: stream.bytes, cutAfter: [Int](repeating: 1, count: stream.bytes.count))
        #expect(frames == stream.frames)
        try framer.finish()
        let storage = framer.storageByteCount
        #expect(storage == RingBuffer.minStorageByteCount)
    }

    @Test(arguments: 0..<64)
    func `random splits give the same frames`(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(1000 + seed))
        let sizes = (0..<40).map { _ in Int.random(in: 0...(Bool.random(using: &random) ? 40 : 3000), using: &random) }
        let stream = try FrameStream(seed: UInt64(seed), bodyByteCounts: sizes)
        var framer = Framer(maxBodyByteCount: 3000, ringByteCount: 256)
        var cuts: [Int] = []
        while cuts.reduce(0, +) < stream.bytes.count {
            cuts.append(Int.random(in: 0...(Bool.random(using: &random) ? 30 : 2000), using: &random))
        }
        let frames = try framer.frames(from: stream.bytes, cutAfter: cuts)
        #expect(frames == stream.frames)
        try framer.finish()
    }

    @Test(arguments: 0..<64)
    func `a damaged stream fails with the same error after the same frames for every split`(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(2000 + seed))
        let sizes = (0..<8).map { _ in Int.random(in: 0...100, using: &random) }
        var bytes = try FrameStream(seed: UInt64(seed), bodyByteCounts: sizes).bytes
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
        let whole = Self.outcome(bytes, cutAfter: [])
        #expect(whole.code != nil)
        for _ in 0..<20 {
            let cuts = (0..<50).map { _ in Int.random(in: 0...40, using: &random) }
            let pieces = Self.outcome(bytes, cutAfter: cuts)
            #expect(pieces == whole)
        }
    }

    struct Outcome: Equatable {
        var frames: [OwnedFrame] = []
        var code: ErrorCode?
    }

    /// Returns the frames of a stream, and its error.
    static func outcome(_ bytes: [UInt8], cutAfter sizes: [Int]) -> Outcome {
        var outcome = Outcome()
        var framer = Framer(maxBodyByteCount: 100)
        var offset = 0
        outcome.code =
            thrown { () throws(WireError) in
                for size in sizes + [bytes.count] {
                    let end = min(offset + size, bytes.count)
                    _ = try framer.consume(bytes[offset..<end]) { header, body in
                        outcome.frames.append(OwnedFrame(header: header, body: [UInt8](copying: body)))
                        return .proceed
                    }
                    offset = end
                }
                try framer.finish()
            }?.code
        return outcome
    }
}
