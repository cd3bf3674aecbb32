import Testing

@testable import MartletWire

@Suite("Status cards")
struct StatusCardTests {
    private let id = CardID("build-7")!

    /// A card with every field.
    private func card(_ status: CardStatus = .failed) throws -> StatusCard {
        try StatusCard(
            id: id, title: "Build 7", status: status,
            details: [.init("branch", "main"), .init("log", "")], time: 1_700_000_000_000,
            url: "https://ci.example/7?a#b")
    }

    private func content(_ write: (inout TLVWriter) -> Void) throws -> MessageContent {
        var writer = TLVWriter()
        write(&writer)
        return try MessageContent(kind: .card, bytes: writer.bytes)
    }

    /// Appends the fields that every card has.
    private func appendHead(_ writer: inout TLVWriter, status: UInt8 = 1) {
        writer.append(.card, name: id)
        writer.append(.text, string: "Build 7")
        writer.append(.cardStatus, uint8: status)
    }

    // M-39
    @Test func `a card of each status → a content that gives the same card`() throws {
        for status in CardStatus.allCases {
            let body = MessageBody.card(try card(status))
            #expect(try body.content.kind == .card)
            #expect(try MessageBody(body.content) == body)
        }
    }

    // M-40
    @Test func `values at their bounds → a card; one beyond → invalidValue or tooManyTLVs`() throws {
        func card(
            _ title: String = "t", _ key: String = "k", _ value: String = "v", count: Int = 1, time: UInt64 = 0,
            url: String? = nil
        ) throws -> StatusCard {
            let details = try (0..<count).map { _ in try StatusCard.Detail(key, value) }
            return try StatusCard(id: id, title: title, status: .ok, details: details, time: time, url: url)
        }
        let text = { String(repeating: "x", count: $0) }
        let largest = try card(
            text(256), text(64), text(256), count: 16, time: StatusCard.maxTime, url: "http://" + text(1017))
        #expect(try MessageBody(MessageBody.card(largest).content) == .card(largest))
        // A relay may publish a content of this size, and it needs no fragments.
        #expect(try MessageBody.card(largest).content.byteCount < 8 << 10)
        #expect(throws: WireError.invalidValue(.text)) { try card("") }
        #expect(throws: WireError.invalidValue(.text)) { try card(text(257)) }
        #expect(throws: WireError.invalidValue(.key)) { try card("t", "") }
        #expect(throws: WireError.invalidValue(.key)) { try card("t", text(65)) }
        #expect(throws: WireError.invalidValue(.text)) { try card("t", "k", text(257)) }
        #expect(throws: WireError.tooManyTLVs(limit: 16)) { try card(count: 17) }
        #expect(throws: WireError.invalidValue(.statusTime)) { try card(time: StatusCard.maxTime + 1) }
        #expect(throws: WireError.invalidValue(.url)) { try card(url: "http://" + text(1018)) }
    }

    // Specs/hostile.md row 107
    @Test func `a title, key or value with a control character or a control of direction → invalidValue`() throws {
        for scalar in [
            "\u{0}", "\n", "\u{1B}", "\u{7F}", "\u{9B}", "\u{61C}", "\u{200F}", "\u{2028}", "\u{202E}", "\u{2069}",
        ] {
            let text = "a\(scalar)b"
            #expect(throws: WireError.invalidValue(.text)) { try StatusCard(id: id, title: text, status: .ok) }
            #expect(throws: WireError.invalidValue(.key)) { try StatusCard.Detail(text, "") }
            #expect(throws: WireError.invalidValue(.text)) { try StatusCard.Detail("a", text) }
        }
        // An emoji of several scalars is a line.
        #expect(try StatusCard(id: id, title: "👩\u{200D}💻 \u{FE0F}", status: .ok).title.unicodeScalars.count == 5)
    }

    // M-41, Specs/hostile.md row 107
    @Test func `a URL of http or https → a card; another scheme or user information → invalidValue`() throws {
        for url in ["http://a", "https://a.example:8443/b?c=d#e", "https://[::1]/", "https://a/@b"] {
            #expect(try StatusCard(id: id, title: "t", status: .ok, url: url).url == url)
        }
        for url in [
            "", "a", "//a", "javascript:alert(1)", "data:text/html,a", "ftp://a/", "https:a", "https://", "https:///a",
            "https://?a", "HTTPS://a", "https://a b", "https://a\n", "https://user@a/", "https://a:b@c/", "https://é/",
            "https://a/\"", "https://a/<", "https://a\\b",
        ] {
            #expect(throws: WireError.invalidValue(.url)) { try StatusCard(id: id, title: "t", status: .ok, url: url) }
        }
    }

    // M-42
    @Test func `a status of a later version → unknown`() throws {
        for number: UInt8 in [0, 6, 255] {
            let content = try content { appendHead(&$0, status: number) }
            #expect(try MessageBody(content) == .card(StatusCard(id: id, title: "Build 7", status: .unknown)))
        }
    }

    // M-39
    @Test func `a field missing or repeated → missingField, duplicateField; in a detail, too`() throws {
        let fields: [(Tag, (inout TLVWriter) -> Void)] = [
            (.card, { $0.append(.card, string: "a") }), (.text, { $0.append(.text, string: "a") }),
            (.cardStatus, { $0.append(.cardStatus, uint8: 1) }), (.statusTime, { $0.append(.statusTime, uint64: 1) }),
            (.url, { $0.append(.url, string: "http://a") }),
        ]
        for (tag, write) in fields {
            let twice = try content {
                for (_, write) in fields { write(&$0) }; write(&$0)
            }
            #expect(throws: WireError.duplicateField(tag)) { try MessageBody(twice) }
            guard tag != .statusTime, tag != .url else { continue }
            let without = try content { for field in fields where field.0 != tag { field.1(&$0) } }
            #expect(throws: WireError.missingField(tag)) { try MessageBody(without) }
        }
        for (key, text, error): (Int, Int, WireError) in [
            (0, 1, .missingField(.key)), (1, 0, .missingField(.text)), (2, 1, .duplicateField(.key)),
            (1, 2, .duplicateField(.text)),
        ] {
            let content = try content {
                appendHead(&$0)
                $0.container(.detail) { writer in
                    for _ in 0..<key { writer.append(.key, string: "a") }
                    for _ in 0..<text { writer.append(.text, string: "a") }
                }
            }
            #expect(throws: error) { try MessageBody(content) }
        }
    }

    @Test func `an unknown field → ignored; a critical one → unknownCriticalTag; in a detail, too`() throws {
        for (tag, isCritical) in [(Tag(rawValue: 0x7ABC), false), (Tag(rawValue: 0xFABC), true)] {
            for isInDetail in [false, true] {
                let content = try content {
                    appendHead(&$0)
                    if !isInDetail { $0.append(tag, string: "x") }
                    $0.container(.detail) { writer in
                        writer.append(.key, string: "a")
                        writer.append(.text, string: "b")
                        if isInDetail { writer.append(tag, string: "x") }
                    }
                }
                if isCritical {
                    #expect(throws: WireError.unknownCriticalTag(tag)) { try MessageBody(content) }
                } else {
                    let card = try StatusCard(id: id, title: "Build 7", status: .ok, details: [.init("a", "b")])
                    #expect(try MessageBody(content) == .card(card))
                }
            }
        }
    }

    @Test func `a content cut at any byte → refused, or a card with fewer fields`() throws {
        let bytes = try MessageBody.card(card()).content.bytes
        for count in bytes.indices {
            guard let content = try? MessageContent(kind: .card, bytes: Array(bytes.prefix(count))),
                case .card(let cut)? = try? MessageBody(content)
            else { continue }
            #expect(cut.id == id && cut.status == .failed && cut.url == nil)
            #expect(try MessageBody.card(cut).content.bytes == content.bytes)
        }
    }

    @Test func `a content with any changed bit → refused, or its own encoding`() throws {
        let bytes = try MessageBody.card(card()).content.bytes
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                guard let content = try? MessageContent(kind: .card, bytes: changed),
                    let body = try? MessageBody(content)
                else { continue }
                #expect(try MessageBody(body.content) == body)
            }
        }
    }
}
