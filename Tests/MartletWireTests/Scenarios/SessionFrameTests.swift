import MartletWire
import Testing

@Suite("Open, reset, receipt and transient")
struct SessionFrameTests {
    @Test("Open knows four kinds of session")
    func sessionKind() throws {
        func parse(_ kind: UInt8) throws -> Open {
            try Open([Field(.room, [0x61]), Field(.sessionKind, kind), Field(.cursor, 0 as UInt64)])
        }
        #expect(
            try SessionKind.allCases.map(\.rawValue).map { try parse($0).kind } == [.chat, .media, .signaling, .file])
        #expect(throws: WireError.invalidValue(.sessionKind)) { try parse(4) }
        #expect(try parse(0).tail == nil)
    }

    @Test("Reset does not end the control session")
    func reset() {
        #expect(throws: WireError.invalidValue(.session)) {
            try Reset([Field(.session, 0 as UInt16), Field(.code, 1 as UInt16)])
        }
    }

    @Test("A receipt is delivered, read or refused", arguments: [0, 4, 255] as [UInt8])
    func receiptKind(_ kind: UInt8) {
        #expect(throws: WireError.invalidValue(.receiptKind)) {
            try Receipt([Field(.receiptKind, kind), Field(.upTo, 1 as UInt64)])
        }
    }

    @Test("A refused message has a counter from 1")
    func refusal() throws {
        let fields = [Field(.receiptKind, 3 as UInt8), Field(.code, 0x0405 as UInt16)]
        let parsed = try Receipt(fields + [Field(.counter, 1 as UInt64)])
        #expect(parsed == .refused(.init(counter: 1, code: .refused)))
        #expect(throws: WireError.invalidValue(.counter)) { try Receipt(fields + [Field(.counter, 0 as UInt64)]) }
    }

    @Test("A transient says one thing")
    func transientParts() throws {
        let typing = Field(.typing, 1 as UInt8)
        let presence = Field(.presence, 2 as UInt8)
        let kind = Field(.kind, 0xF000 as UInt16)
        let content = Field(.content, [])
        #expect(try Transient([typing]).content == .typing(true))
        #expect(try Transient([Field(.typing, 0 as UInt8)]).content == .typing(false))
        #expect(try Transient([presence]) == Transient(.presence(.away)))
        #expect(try Transient([kind, content]).content == .message(ContentKind(rawValue: 0xF000), []))
        #expect(throws: WireError.missingField(.content)) { try Transient([]) }
        #expect(throws: WireError.missingField(.content)) { try Transient([kind]) }
        #expect(throws: WireError.missingField(.kind)) { try Transient([content]) }
        #expect(throws: WireError.invalidValue(.typing)) { try Transient([typing, presence]) }
        #expect(throws: WireError.invalidValue(.typing)) { try Transient([typing, kind, content]) }
        #expect(throws: WireError.invalidValue(.typing)) { try Transient([typing, content]) }
        #expect(throws: WireError.invalidValue(.presence)) { try Transient([presence, kind]) }
        #expect(throws: WireError.invalidValue(.typing)) { try Transient([Field(.typing, 2 as UInt8)]) }
        #expect(throws: WireError.invalidValue(.presence)) { try Transient([Field(.presence, 3 as UInt8)]) }
        #expect(throws: WireError.missingField(.text)) { try Transient([Field(.kind, 0x1001 as UInt16), content]) }
    }

    @Test("A transient of typing and of presence comes back", arguments: Transient.Presence.allCases)
    func transientRoundTrip(_ presence: Transient.Presence) throws {
        let said = Transient(.presence(presence), sender: ada)
        #expect(try Transient(parsing: said.encode().rawBytes) == said)
        let typing = Transient(.typing(presence == .online), sender: ada)
        #expect(try Transient(parsing: typing.encode().rawBytes) == typing)
    }
}
