import MartletWire
import Testing

@Suite("Messages")
struct MessageTests {
    private let counter = Field(.counter, 3 as UInt64)
    private let text = Field(.kind, 0x1001 as UInt16)
    private let hello = Field(.content, holding: [Field(.text, Array("hello".utf8))])

    private func content(_ fields: [Field]) -> Field { Field(.content, holding: fields) }

    @Test("a client's message encodes to these bytes")
    func goldenClient() {
        let body = Message.encodeClient(
            counter: 3, kind: .text, content: Message.textContent("hello"), timeToLive: .seconds(60))
        let expected = bytes(
            hex: """
                0040 00000008 0000000000000003
                0041 00000002 1001
                0043 00000004 0000EA60
                0142 0000000B
                    0201 00000005 68656C6C6F
                """)
        #expect(body == expected)
        #expect(
            Message(counter: 3, kind: .text, content: Message.textContent("hello"), timeToLive: .seconds(60)).encode()
                == expected)
    }

    @Test("a message encodes equally into a reused writer and into new bytes")
    func reused() {
        var writer = TLVWriter()
        for byteCount in [1, 15, 16, 300, 20_000] {
            for relay in [nil, stamp] {
                let content = MessageContent(text: String(repeating: "x", count: byteCount))
                let message = Message(counter: 3, content: content, timeToLive: .seconds(byteCount), relay: relay)
                writer.removeAll()
                message.encode(into: &writer)
                let bytes = writer.bytes
                #expect(bytes == message.encode())
            }
        }
    }

    // W-61
    @Test("a relay's message is its stamp and the unchanged bytes of the client")
    func goldenRelay() throws {
        let client = bytes(of: [Field(.unknown, [1]), hello, text, counter, Field(.unknown, [2])])
        let body = Message.encodeRelay(
            offset: 7, acceptedAt: 0x018B_CFE5_6800, sender: noor, device: DeviceID(rawValue: 2),
            clientBody: client.rawBytes)
        let prefix = bytes(
            hex: """
                0048 00000008 0000000000000007
                0049 00000008 0000018BCFE56800
                0011 00000008 0000000000000002
                004A 00000004 6E6F6F72
                """)
        #expect(body == prefix + client)
        let message = try Message(parsing: body.rawBytes)
        #expect(message.relay == stamp)
        #expect(message.text == "hello")
        #expect(prefix.count <= RelayStamp.maxByteCount)
    }

    @Test("a view reads all fields in place")
    func view() throws {
        let body = Message.encodeRelay(
            offset: 7, acceptedAt: 8, sender: ada, device: DeviceID(rawValue: 9),
            clientBody: Message.encodeClient(
                counter: 3, kind: .text, content: Message.textContent("héllo"), timeToLive: .milliseconds(5)
            ).rawBytes)
        let view = try MessageView(parsing: body.rawBytes)
        #expect(view.counter == 3)
        #expect(view.kind == .text)
        #expect(view.timeToLive == .milliseconds(5))
        #expect(view.offset == 7)
        #expect(view.acceptedAt == 8)
        #expect(view.device == DeviceID(rawValue: 9))
        let hasRelayFields = view.hasRelayFields
        #expect(hasRelayFields)
        guard let sender = view.sender, let text = view.text else {
            Issue.record("a view without sender or text")
            return
        }
        let senderBytes = [UInt8](copying: sender)
        #expect(senderBytes == Array("ada".utf8))
        let textBytes = [UInt8](copying: text)
        #expect(textBytes == Array("héllo".utf8))
        let content = [UInt8](copying: view.content)
        #expect(content == Message.textContent("héllo"))
    }

    @Test("a client's message has no relay fields, and other kinds have no text")
    func clientView() throws {
        let body = Message.encodeClient(counter: 1, kind: .image, content: [])
        let view = try MessageView(parsing: body.rawBytes)
        let hasRelayFields = view.hasRelayFields
        #expect(!hasRelayFields)
        #expect(view.timeToLive == nil)
        let hasText = view.text != nil
        #expect(!hasText)
        #expect(try Message(parsing: body.rawBytes).text == nil)
    }

    // W-61
    @Test("a body with some of the relay's fields is refused", arguments: [Tag.offset, .acceptedAt, .device, .sender])
    func partialStamp(_ tag: Tag) throws {
        let body = Message(counter: 1, kind: .image, content: [], relay: stamp).encode()
        let rest = try fields(of: body).filter { $0.tag != tag }
        #expect(throws: WireError.invalidValue(tag)) { try Message(rest) }
        let alone = try fields(of: body).filter { $0.tag == tag }
        #expect(throws: WireError.self) { try Message([counter, text, hello] + alone) }
    }

    // W-60
    @Test("a counter or offset of 0 is refused")
    func positive() {
        #expect(throws: WireError.invalidValue(.counter)) { try Message([Field(.counter, 0 as UInt64), text, hello]) }
        #expect(throws: WireError.invalidValue(.offset)) {
            try Message([Field(.offset, 0 as UInt64), counter, text, hello])
        }
    }

    // W-63
    @Test("a text message without exactly one non-empty UTF-8 text is refused")
    func textRules() throws {
        let good = Field(.text, Array("a".utf8))
        #expect(throws: WireError.missingField(.text)) { try Message([counter, text, content([])]) }
        #expect(throws: WireError.invalidValue(.text)) { try Message([counter, text, content([Field(.text, [])])]) }
        #expect(throws: WireError.invalidValue(.text)) {
            try Message([counter, text, content([Field(.text, [0xFF])])])
        }
        #expect(throws: WireError.duplicateField(.text)) { try Message([counter, text, content([good, good])]) }
        #expect(try Message([counter, text, content([Field(.unknownCritical, []), good])]).text == "a")
        let other = Field(.kind, 0xF000 as UInt16)
        #expect(throws: Never.self) { try Message([counter, other, content([Field(.text, [0xFF])])]) }
    }

    // W-27
    @Test("a body without room for the relay's fields is refused")
    func roomForStamp() throws {
        let outside = [counter, Field(.kind, 0x1002 as UInt16), content([])]
        func client(unknown count: Int) -> [UInt8] {
            bytes(of: outside + Array(repeating: Field(.unknown, []), count: count))
        }
        let most = client(unknown: 1020 - outside.count)
        #expect(throws: Never.self) { try Message(parsing: most.rawBytes) }
        let relayed = Message.encodeRelay(
            offset: 1, acceptedAt: 1, sender: ada, device: DeviceID(rawValue: 1), clientBody: most.rawBytes)
        #expect(throws: Never.self) { try Message(parsing: relayed.rawBytes) }
        #expect(throws: WireError.tooManyTLVs(limit: 1020)) {
            try Message(parsing: client(unknown: 1021 - outside.count).rawBytes)
        }
    }

    @Test("a parsed message can be created again")
    func contentBounds() throws {
        func content(_ count: Int) -> [UInt8] { bytes(of: Array(repeating: Field(.unknown, []), count: count)) }
        let most = content(ContentRules.maxTLVCount)
        let message = Message(counter: 1, kind: .image, content: most)
        #expect(try Message(parsing: message.encode().rawBytes) == message)
        let more = content(ContentRules.maxTLVCount + 1)
        #expect(throws: WireError.tooManyTLVs(limit: 1024)) {
            try Message([counter, Field(.kind, 0x1002 as UInt16), Field(.content, more)])
        }
        #expect(throws: WireError.tooManyTLVs(limit: 1024)) { try ContentRules.check(more.rawBytes) }
        #expect(throws: WireError.tooManyTLVs(limit: 1024)) {
            try Response([Field(.correlation, 1 as UInt64), Field(.status, 0 as UInt16), Field(.content, more)])
        }
    }

    @Test("a content may be nested as deeply as a body")
    func depth() throws {
        var nested = Field(.unknownContainer, [])
        for _ in 0..<6 { nested = Field(.unknownContainer, holding: [nested]) }
        let message = Message(counter: 1, kind: .image, content: bytes(of: [nested]))
        #expect(try Message(parsing: message.encode().rawBytes) == message)
        let deeper = bytes(of: [Field(.unknownContainer, holding: [nested])])
        #expect(throws: WireError.tlvTooDeep(limit: 8)) { try ContentRules.check(deeper.rawBytes) }
    }

    @Test("unknown kinds keep their number, and the range of applications is recognized")
    func kinds() {
        #expect(ContentKind(rawValue: 0xF000).isApplicationDefined)
        #expect(ContentKind(rawValue: 0xFFFE).isApplicationDefined)
        #expect(!ContentKind(rawValue: 0xFFFF).isApplicationDefined)
        #expect(!ContentKind(rawValue: 0xEFFF).isApplicationDefined)
        let named: [ContentKind] = [
            .text, .image, .file, .audio, .video, .location, .contact, .command, .edit, .delete, .reaction, .reply,
            .system, .attachment, .ack, .heartbeat,
        ]
        #expect(
            named.map(\.rawValue) == [
                0x1001, 0x1002, 0x1003, 0x1004, 0x1005, 0x1006, 0x1007, 0x1008, 0x1009, 0x100A, 0x100B, 0x100C, 0x100D,
                0x100E, 0x2001, 0x3001,
            ])
    }
}
