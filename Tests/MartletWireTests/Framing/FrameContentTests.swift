import MartletWire
import Testing

@Suite struct FrameContentTests {
    /// Returns the kinds of the contents of frames in packets.
    private func kinds(_ frames: [[UInt8]]) throws -> [String] {
        let packets = PacketStream()
        return try kinds(packets.write(frames), &packets.framer)
    }

    private func kinds(_ bytes: [UInt8], _ framer: inout Framer) throws -> [String] {
        var kinds: [String] = []
        _ = try framer.consumeContents(bytes.rawBytes) { header, content in
            #expect(Int(header.bodyByteCount) == content.byteCount)
            content.withBody { #expect($0.byteCount == content.byteCount) }
            switch content {
            case .body: kinds.append("body")
            case .message(let message): kinds.append("message \(message.counter) at \(message.offset)")
            case .accepted(let run): kinds.append("accepted \(run.counters)")
            case .ack(let values): kinds.append("ack \(values.ack.sessions[0].cumulative)")
            }
            return .proceed
        }
        return kinds
    }

    @Test func `compact forms without TLVs are reported as values, all others as bodies`() throws {
        let open = Open(room: RoomName("lobby"), cursor: 0)
        let found = try kinds([
            PacketWriterTests.frame(open, 1),
            PacketWriterTests.frame(PacketWriterTests.text("hello", 7), 2),
            PacketWriterTests.frame(PacketWriterTests.text("語音", 8), 3),
            PacketWriterTests.frame(PacketWriterTests.delivery("hello", 9, at: 10), 4),
            PacketWriterTests.frame(PacketWriterTests.accepted(5, 6, count: 2), 5),
            PacketWriterTests.ack(3),
        ])
        #expect(found == ["body", "message 7 at 0", "message 8 at 0", "message 9 at 9", "accepted 5...6", "ack 3"])
    }

    @Test func `invalid values are reported as an invalid body`() throws {
        var framer = Framer(maxBodyByteCount: 1000)
        framer.allowPackets(deflated: false)
        let head: [UInt8] = [0x60, 0x07, 0x01, 0, 0, 0, 1, 0x00]
        #expect(try kinds(packet(head + [0xFF]), &framer) == ["body"])
        #expect(try kinds(packet([0x20]), &framer) == ["body"])
        // The counter is 0, which is invalid: the difference from the expected counter is −3.
        #expect(try kinds(packet([0x22, 0x05] + "hello".utf8), &framer) == ["body"])
        // The run contains no messages, which is invalid.
        #expect(try kinds(packet([0x25, 0x00, 0x00, 0x00]), &framer) == ["body"])
    }

    @Test func `a value whose body exceeds the limit is refused`() throws {
        let text = PacketWriterTests.frame(PacketWriterTests.text(String(repeating: "x", count: 67), 1), 1)
        let bytes = PacketStream().write([text])
        for (limit, count) in [(100, nil), (101, 1)] as [(Int, Int?)] {
            var framer = Framer(maxBodyByteCount: limit)
            framer.allowPackets(deflated: false)
            #expect((try? kinds(bytes, &framer))?.count == count)
        }
    }
}
