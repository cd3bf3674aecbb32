import Testing

@testable import MartletDifferential
@testable import MartletWire

/// Replays `Specs/vectors/contents.json`: contents of messages between applications, and values.
@Suite("Vectors of contents")
struct ContentVectorTests {
    struct Vector: CustomTestStringConvertible {
        var testDescription: String
        var kind: ContentKind
        var bytes: [UInt8]
        var fields: JSONValue?
        var error: String?

        init(_ vector: JSONValue) {
            testDescription = vector["name"]?.text ?? ""
            kind = ContentKind(rawValue: UInt16(vector["kind"]?.number ?? 0))
            bytes = vector["content"]?.bytes ?? []
            fields = vector["fields"]?.expanded
            error = vector["error"]?.text
        }
    }

    private static let vectors: [Vector] = {
        let files = (try? VectorFile.all()) ?? []
        return files.first { $0.name == "contents" }?.vectors.map { Vector($0) } ?? []
    }()

    private static func body(_ kind: ContentKind, _ bytes: some Collection<UInt8>) throws(WireError) -> MessageBody {
        try MessageBody(MessageContent(kind: kind, bytes: Array(bytes)))
    }

    @Test func `the file has contents of every kind, and each fault`() {
        #expect(Set(Self.vectors.filter { $0.fields != nil }.map(\.kind)).count == 8)
        #expect(Set(Self.vectors.compactMap(\.error)).count == 7)
    }

    // M-1, M-2, M-3, M-4, M-5, M-6, M-7, M-8, M-14, M-15, M-16, M-17, M-39, M-40, M-41, M-42
    @Test(arguments: vectors) func `a content gives its fields, or its fault`(vector: Vector) {
        do throws(WireError) {
            let body = try Self.body(vector.kind, vector.bytes)
            #expect(body.json == vector.fields)
            let content = try body.content
            #expect(try MessageBody(content).json == vector.fields)
            // A value has one encoding.
            if vector.kind == .command { #expect(content.bytes == vector.bytes) }
        } catch {
            #expect(error.code.name == vector.error)
        }
    }

    @Test(arguments: vectors) func `a truncated content is refused, or has its own encoding`(vector: Vector) {
        for count in 0..<min(vector.bytes.count, 512) {
            guard let body = try? Self.body(vector.kind, vector.bytes.prefix(count)) else { continue }
            #expect((try? MessageBody(body.content)) == body)
        }
    }

    @Test(arguments: vectors) func `a content with one changed byte is refused, or has its own encoding`(
        vector: Vector
    ) {
        for index in vector.bytes.indices.prefix(256) {
            for bit in 0..<8 {
                var bytes = vector.bytes
                bytes[index] ^= 1 << bit
                guard let body = try? Self.body(vector.kind, bytes), let content = try? body.content else { continue }
                #expect((try? MessageBody(content).content.bytes) == content.bytes)
            }
        }
    }
}

extension MessageBody {
    /// The fields in the notation of the vectors; nil for kinds without fields.
    fileprivate var json: JSONValue? {
        var fields: [String: JSONValue] = [:]
        switch self {
        case .text, .other: return nil
        case .edit(let target, let text), .reply(let target, let text):
            fields = ["target": target.json, "text": .text(text)]
        case .delete(let target): fields = ["target": target.json]
        case .reaction(let reaction, let target, let isRemoved):
            fields = ["target": target.json, "reaction": .text(reaction)]
            if isRemoved { fields["removed"] = .number(1) }
        case .system(let event, let text):
            fields = ["event": .text(event.text)]
            fields["text"] = text.map { .text($0) }
        case .attachment(let attachment):
            fields = ["byteCount": .text("\(attachment.byteCount)")]
            switch attachment.source {
            case .location(let location): fields["location"] = .text(location)
            case .data(let data): fields["data"] = .hex(data)
            }
            fields["name"] = attachment.name.map { .text($0) }
            fields["mediaType"] = attachment.mediaType.map { .text($0) }
            fields["digest"] = attachment.digest.map { .hex($0) }
            fields["text"] = attachment.caption.map { .text($0) }
            fields["thumbnail"] = attachment.thumbnail.map { .hex($0) }
        case .command(let value): fields = ["value": value.json]
        case .card(let card):
            fields = ["card": .text(card.id.text), "text": .text(card.title), "cardStatus": .text(card.status.name)]
            if !card.details.isEmpty {
                fields["details"] = .list(card.details.map { .list([.text($0.key), .text($0.value)]) })
            }
            fields["statusTime"] = card.time.map { .text("\($0)") }
            fields["url"] = card.url.map { .text($0) }
        }
        return .object(fields)
    }
}

extension MessageReference {
    fileprivate var json: JSONValue {
        var fields: [String: JSONValue] = [
            "sender": .text(id.sender.text), "device": .text("\(id.device.rawValue)"),
            "counter": .text("\(id.counter)"),
        ]
        fields["offset"] = offset.map { .text("\($0)") }
        return .object(fields)
    }
}

extension ContentValue {
    fileprivate var json: JSONValue {
        switch self {
        case .null: .object(["null": .bool(true)])
        case .bool(let value): .object(["bool": .bool(value)])
        case .integer(let value): .object(["integer": .text("\(value)")])
        case .unsigned(let value): .object(["unsigned": .text("\(value)")])
        case .double(let value):
            .object([
                "double": .hex((0..<8).reversed().map { UInt8(truncatingIfNeeded: value.bitPattern >> (8 * $0)) })
            ])
        case .text(let value): .object(["text": .text(value)])
        case .data(let value): .object(["data": .hex(value)])
        case .array(let values): .object(["array": .list(values.map(\.json))])
        case .object(let members):
            .object(["object": .list(members.map { .object(["key": .text($0.key), "value": $0.value.json]) })])
        }
    }
}
