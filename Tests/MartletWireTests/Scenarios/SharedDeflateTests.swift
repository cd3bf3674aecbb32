import MartletWire
import Testing

@Suite struct SharedDeflateTests {
    private static func frame(_ number: Int, _ text: String) -> [UInt8] {
        PacketWriterTests.frame(PacketWriterTests.text(text, UInt64(number)), UInt32(number))
    }

    private static let line = "the bird that never lands was seen above the harbour again"

    @Test func `earlier payloads make later ones shorter`() {
        let packets = PacketStream(deflates: .small)
        let first = packets.write([Self.frame(1, Self.line)])
        let second = packets.write([Self.frame(2, Self.line)])
        #expect(second.count < 16)
        #expect(packets.read(first + second) == [Self.frame(1, Self.line), Self.frame(2, Self.line)])
    }

    @Test func `a stream begins with the preset dictionary`() {
        let packets = PacketStream(deflates: .small)
        let known = "I'll be there in a few minutes, see you tomorrow"
        #expect(packets.write([Self.frame(1, known)]).count < known.utf8.count / 2 + 16)
    }

    // W-96.
    @Test func `a secret is sent unchanged and does not enter the stream`() {
        let packets = PacketStream(deflates: .large)
        let frames = [Self.frame(1, Self.line), Self.frame(2, "password: \(Self.line)"), Self.frame(3, Self.line)]
        let bytes = packets.write(frames, secrets: [1])
        #expect(packets.read(bytes) == frames)
        #expect(Self.contains(bytes, Array("password: \(Self.line)".utf8)))
        #expect(!Self.contains(packets.write([Self.frame(4, Self.line)]), Array(Self.line.utf8)))
    }

    // W-94.
    @Test func `the end of a stream releases the memory of both sides, and another stream can begin`() {
        let packets = PacketStream(deflates: .small)
        #expect(packets.read(packets.write([Self.frame(1, Self.line)])).count == 1)
        #expect(packets.writer.isStreaming)
        let isRead = packets.framer.isStreaming
        #expect(isRead)
        let end = packets.end()
        #expect(end == Array([0xA0, 0x00] + Self.bigEndian(CRC32.checksum([0xA0, 0x00].rawBytes))))
        #expect(packets.read(end).isEmpty)
        #expect(!packets.writer.isStreaming)
        let isReadStill = packets.framer.isStreaming
        #expect(!isReadStill)
        #expect(packets.end().isEmpty)
        #expect(packets.read(packets.write([Self.frame(2, Self.line)])) == [Self.frame(2, Self.line)])
    }

    @Test func `incompressible payloads fit into the bound`() {
        var random = SeededRandom(seed: 3)
        let packets = PacketStream(deflates: .large)
        for number in 1...50 {
            let noise = (0..<2000).map { _ in UInt8.random(in: 0...255, using: &random) }
            var writer = TLVWriter()
            writer.append(Tag(rawValue: 0x4001), bytes: noise)
            let message = Message(counter: UInt64(number), kind: ContentKind(rawValue: 0xF000), content: writer.bytes)
            let frames = [PacketWriterTests.frame(message, UInt32(number))]
            #expect(packets.read(packets.write(frames)) == frames)
        }
    }

    // W-95.
    @Test func `a deflated payload that inflates beyond the bound is refused`() throws {
        let writer = DeflateStream(.large)
        let bomb = [UInt8](repeating: 0, count: 4097)
        let reader = InflateStream()
        #expect(throws: WireError.inflateLimit(4096)) {
            try reader.inflate(writer.deflate(bomb.rawBytes).rawBytes, limit: 4096)
        }
        let noise: [UInt8] = [0x07, 0xFF, 0xFF]
        #expect(throws: WireError.inflateFailed) { try InflateStream().inflate(noise.rawBytes, limit: 4096) }
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: part) }
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
}
