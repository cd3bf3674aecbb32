import MartletWire
import Testing

@Suite struct BodyLayoutTests {
    private func message(_ text: String, timeToLive: Duration? = nil, relay: RelayStamp? = nil) -> Message {
        Message(counter: 5, content: MessageContent(text: text), timeToLive: timeToLive, relay: relay)
    }

    @Test(
        arguments: [
            ("hello", .text), ("hé", .text), ("語音", .text16), ("x", .unknown), ("語", .text16),
        ] as [(String, BodyLayout)])
    func `the layout that a message states equals the layout found in its body`(
        _ text: String, _ layout: BodyLayout
    ) throws {
        let client = message(text)
        let body = client.encode()
        #expect(client.layout == layout && BodyLayout(of: .data, body.rawBytes) == layout)
        #expect(try MessageView(parsing: body.rawBytes).layout == layout)
        let stamp = RelayStamp(offset: 1, acceptedAt: 2, sender: ada, device: DeviceID(rawValue: 3))
        let delivery = message(text, relay: stamp)
        #expect(delivery.layout == layout.stamped)
        #expect(BodyLayout(of: .data, delivery.encode().rawBytes) == layout.stamped)
    }

    @Test func `a message with more than one text has an unknown layout`() throws {
        let late = message("hello", timeToLive: .seconds(1))
        #expect(late.layout == .unknown && BodyLayout(of: .data, late.encode().rawBytes) == .unknown)
        #expect(try MessageView(parsing: late.encode().rawBytes).layout == .unknown)
        var content = TLVWriter()
        content.append(.text, string: "hello")
        content.append(Tag(rawValue: 0x7000), bytes: [1])
        let more = Message(counter: 1, kind: .text, content: content.bytes)
        #expect(more.layout == .unknown && BodyLayout(of: .data, more.encode().rawBytes) == .unknown)
        #expect(try MessageView(parsing: more.encode().rawBytes).layout == .unknown)
    }

    @Test func `a body with one run has a layout, one with two runs has none`() {
        let run = AcceptedRun(firstCounter: 1, count: 2, firstOffset: 3)
        let other = AcceptedRun(firstCounter: 9, count: 1, firstOffset: 7)
        for (runs, layout) in [([run], .acceptedRun), ([run, other], .unknown)] as [([AcceptedRun], BodyLayout)] {
            let accepted = Accepted(runs: runs)
            #expect(accepted.layout == layout && BodyLayout(of: .accepted, accepted.encode().rawBytes) == layout)
        }
        #expect(BodyLayout(of: .receipt, Accepted(runs: [run]).encode().rawBytes) == .unknown)
    }

    @Test func `a client's message encodes equally from its body and from its values`() throws {
        let frame = PacketWriterTests.frame(PacketWriterTests.text("hello", 7), 1)
        let body = Array(frame[28...])
        let packets = PacketStream()
        let bytes = packets.write([frame])
        var written: [[UInt8]] = []
        _ = try packets.framer.consumeContents(bytes.rawBytes) { _, content in
            guard case .message(let values) = content, let message = ClientMessage(values) else { return .stop }
            var writer = TLVWriter()
            message.encode(into: &writer)
            #expect(message.byteCount == body.count && message.counter == 7 && message.layout == .text)
            written.append(writer.bytes)
            return .proceed
        }
        #expect(written == [body])
        let view = try MessageView(parsing: body.rawBytes)
        #expect(ClientMessage(view)?.layout == .text)
    }
}
