import MartletWire
import Testing

@Suite("Transient frames")
struct TransientTests {
    // W-67
    @Test("a transient without exactly one content is refused")
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

    @Test("typing and presence equal their parsed encodings", arguments: Transient.Presence.allCases)
    func transientRoundTrip(_ presence: Transient.Presence) throws {
        let said = Transient(.presence(presence), sender: ada)
        #expect(try Transient(parsing: said.encode().rawBytes) == said)
        let typing = Transient(.typing(presence == .online), sender: ada)
        #expect(try Transient(parsing: typing.encode().rawBytes) == typing)
    }
}
