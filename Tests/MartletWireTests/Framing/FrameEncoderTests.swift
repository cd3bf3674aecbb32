import MartletWire
import Testing

@Suite struct FrameEncoderTests {
    /// Returns the output of an encoder for frames in one batch, with a buffer of the given capacity.
    private func bytes(_ encoder: FrameEncoder, _ frames: [[UInt8]], room: Int? = nil) throws -> [UInt8] {
        let capacity = room ?? frames.reduce(0) { $0 + $1.count }
        return try [UInt8](capacity: capacity) { out in
            for frame in frames where encoder.freeByteCount(in: out) >= frame.count {
                try encoder.append(encoded: frame.rawBytes, into: &out)
            }
            _ = encoder.finish(into: &out)
        }
    }

    private func frames(in bytes: [UInt8], step: Int) throws -> [[UInt8]] {
        var framer = Framer(maxBodyByteCount: 1 << 20)
        framer.allowPackets(deflated: true)
        var frames: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            _ = try framer.consume(bytes[start..<min(start + step, bytes.count)]) { header, body in
                frames.append(header.frame(body: body))
                return .proceed
            }
        }
        try framer.finish()
        return frames
    }

    @Test(arguments: [DeflateStream.Size?.none, .small])
    func `plain and compact encodings give equal frames for any split of the bytes`(
        _ size: DeflateStream.Size?
    ) throws {
        var random = SeededRandom(seed: 11)
        let compact = FrameEncoder.compact(PacketWriter(deflates: size))
        var (time, sequence): (UInt32, UInt32) = (0, 0)
        var (sent, packed, plain): ([[UInt8]], [UInt8], [UInt8]) = ([], [], [])
        for _ in 0..<100 {
            let batch = random.some(1...20) { PacketReaderTests.frame(&$0, time: &time, sequence: &sequence) }
            sent += batch
            // The buffer has the size of the plain frames.
            packed += try bytes(compact, batch)
            plain += try bytes(.plain, batch)
        }
        #expect(plain == Array(sent.joined()) && packed.count < plain.count)
        for step in [1, 7, 1460] {
            #expect(try frames(in: packed, step: step) == sent)
            #expect(try frames(in: plain, step: step) == sent)
        }
    }

    @Test func `a buffer of any size receives only complete frames`() throws {
        let texts = (1...6).map {
            PacketWriterTests.frame(PacketWriterTests.text(String(repeating: "y", count: 40), UInt64($0)), UInt32($0))
        }
        let goaway = FrameHeader(type: .goaway).frame(body: GoAway(Notice(code: .none)).encode().rawBytes)
        for room in 0..<700 {
            let found = try frames(
                in: bytes(.compact(PacketWriter()), texts + [goaway] + texts, room: room), step: 100)
            #expect(found.count >= room / 150)
        }
    }

    // W-96
    @Test func `a secret frame is written in its own packet outside of the deflate stream`() throws {
        let line = String(repeating: "the bird that never lands ", count: 4)
        let stream = PacketStream(deflates: .small)
        let texts = (1...3).map { PacketWriterTests.frame(PacketWriterTests.text(line, UInt64($0)), UInt32($0)) }
        let packed = stream.write(texts, secrets: [1])
        #expect(stream.read(packed) == texts)
        let secret = Array(line.utf8)
        #expect(packed.indices.contains { packed[$0...].starts(with: secret) })
    }
}
