import Testing

@testable import MartletWire

@Suite("Message bodies")
struct MessageBodyTests {
    private let target = MessageReference(
        MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: 7), counter: 3), offset: 12)

    private func content(_ kind: ContentKind, _ write: (inout TLVWriter) -> Void) throws -> MessageContent {
        var writer = TLVWriter()
        write(&writer)
        return try MessageContent(kind: kind, bytes: writer.bytes)
    }

    // M-1
    @Test func `a body of each kind → a content of that kind that gives the same body`() throws {
        let bodies: [MessageBody] = [
            .text("hi"), .edit(of: target, text: "hi"), .delete(target),
            .reaction("👋", to: target, isRemoved: false), .reaction("👋", to: target, isRemoved: true),
            .reply(to: target, text: "hi"), .system(event: EventName("call.started")!, text: nil),
            .attachment(Attachment(data: [1, 2], name: "a", mediaType: "b/c", caption: "d")),
            .attachment(Attachment(location: "x", byteCount: 9, digest: Array(repeating: 1, count: 32))),
            .command(.object([.init("a", .null)])),
            .card(try StatusCard(id: CardID("a")!, title: "b", status: .ok, details: [.init("c", "d")])),
        ]
        for body in bodies {
            #expect(try body.content.kind == body.kind)
            #expect(try MessageBody(body.content) == body)
        }
    }

    @Test func `a kind without a specification → its kind, which is not encoded`() throws {
        let body = try MessageBody(try content(.image) { $0.append(.name, string: "a") })
        #expect(body == .other(.image) && body.kind == .image)
        #expect(throws: WireError.invalidValue(.kind)) { try body.content }
    }

    @Test func `values out of their bounds → the error of the parser`() {
        #expect(throws: WireError.invalidValue(.reaction)) {
            try MessageBody.reaction(String(repeating: "r", count: 65), to: target, isRemoved: false).content
        }
        #expect(throws: WireError.invalidValue(.text)) { try MessageBody.edit(of: target, text: "").content }
        #expect(throws: WireError.invalidValue(.text)) { try MessageBody.text("").content }
        var attachment = Attachment(data: [1])
        attachment.digest = [1]
        #expect(throws: WireError.invalidValue(.digest)) { try MessageBody.attachment(attachment).content }
        attachment = Attachment(data: [1])
        attachment.byteCount = 2
        #expect(throws: WireError.invalidValue(.byteCount)) { try MessageBody.attachment(attachment).content }
    }

    // M-2
    @Test func `a target of any shorter length → invalidValue`() throws {
        var writer = TLVWriter()
        target.encode(into: &writer)
        let value = Array(writer.bytes.dropFirst(TLVLimits.headByteCount))
        for count in 0..<value.count - 3 {
            let short = try content(.delete) { $0.append(.target, bytes: Array(value.prefix(count))) }
            #expect(throws: WireError.invalidValue(.target)) { try MessageBody(short) }
        }
        #expect(try MessageBody(try content(.delete) { $0.append(.target, bytes: value) }) == .delete(target))
    }

    @Test func `the offset 0 of a reference → an unknown offset`() {
        let reference = MessageReference(target.id, offset: 0)
        #expect(reference.offset == nil && "\(reference)" == "\(target.id)" && "\(target)" == "\(target.id)@12")
    }

    // M-8
    @Test func `an attachment with bytes and a location → invalidValue`() throws {
        let both = try content(.attachment) {
            $0.append(.byteCount, uint64: 1)
            $0.append(.data, bytes: [1])
            $0.append(.location, string: "x")
        }
        #expect(throws: WireError.invalidValue(.location)) { try MessageBody(both) }
    }
}
