import MartletWire
import Testing

@Suite struct PacketReaderTests {
    private static let types = FrameType.registered.filter {
        ![.hello, .welcome, .reject].contains($0)
    }

    /// Returns a frame of a random type, whose numbers follow those of earlier frames or do not.
    static func frame(_ random: inout SeededRandom, time: inout UInt32, sequence: inout UInt32) -> [UInt8] {
        let type: FrameType = random.chance() ? .data : types.randomElement(using: &random)!
        let body = random.frame(type)!.encode()
        let rule = type.rule!
        var flags = FrameFlags(rule.isReliable ? .reliable : [], priority: random.chance() ? .normal : .low)
        if Int.random(in: 0..<8, using: &random) == 0 { flags.insert(.ackNow) }
        // The interval ensures that the writer includes the timestamp in each frame.
        time &+= UInt32.random(in: 10_000...20_000, using: &random)
        sequence &+= Int.random(in: 0..<8, using: &random) == 0 ? UInt32(random.short()) : 1
        let session = SessionID(rawValue: rule.scope == .control ? 0 : UInt16.random(in: 1...3, using: &random))
        let header = FrameHeader(
            type: type, sequence: rule.isReliable ? sequence : 0, timestamp: time, flags: flags, session: session)
        return header.frame(body: body.rawBytes)
    }

    @Test("random frames equal those parsed from packets", arguments: [DeflateStream.Size?.none, .small, .large])
    func roundTrip(_ size: DeflateStream.Size?) {
        var random = SeededRandom(seed: 7)
        let packets = PacketStream(deflates: size)
        var (time, sequence): (UInt32, UInt32) = (0, 0)
        for _ in 0..<400 {
            let frames = random.some(1...12) { Self.frame(&$0, time: &time, sequence: &sequence) }
            let secrets = frames.indices.filter { _ in Int.random(in: 0..<10, using: &random) == 0 }
            var bytes = packets.write(frames, secrets: secrets)
            #expect(bytes.count <= frames.reduce(0) { $0 + $1.count } + 16)
            if Int.random(in: 0..<40, using: &random) == 0 { bytes += packets.end() }
            #expect(packets.read(bytes) == frames)
        }
    }

    @Test func `every split of a stream gives the same frames`() throws {
        var random = SeededRandom(seed: 8)
        var (time, sequence): (UInt32, UInt32) = (0, 0)
        let writer = PacketStream(deflates: .small)
        var bytes: [UInt8] = []
        var frames: [[UInt8]] = []
        for _ in 0..<60 {
            let some = random.some(1...6) { Self.frame(&$0, time: &time, sequence: &sequence) }
            frames += some
            bytes += writer.write(some)
        }
        for step in [1, 2, 3, 7, 28, 100, 1460] {
            let reader = PacketStream(deflates: .small)
            var read: [[UInt8]] = []
            for start in stride(from: 0, to: bytes.count, by: step) {
                read += reader.read(Array(bytes[start..<min(start + step, bytes.count)]))
            }
            #expect(read == frames)
        }
    }

    @Test func `a stop within a packet keeps its remaining frames for the next call`() throws {
        let packets = PacketStream()
        let frames = (1...3).map { PacketWriterTests.frame(PacketWriterTests.text("\($0)!", UInt64($0)), UInt32($0)) }
        let bytes = packets.write(frames)
        var framer = Framer(maxBodyByteCount: 100)
        framer.allowPackets(deflated: false)
        var read: [[UInt8]] = []
        var consumed = 0
        repeat {
            consumed += try framer.consume(bytes.rawBytes.extracting(droppingFirst: consumed)) { header, body in
                read.append(header.frame(body: body))
                return .stop
            }
        } while framer.hasWaitingFrames
        #expect(read == frames)
        #expect(consumed == bytes.count)
    }
}
