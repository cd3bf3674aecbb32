import Testing

@testable import MartletWire

@Suite("Values of applications")
struct ContentValueTests {
    // M-15, M-16
    @Test func `members in any order and a small unsigned integer → the only encoding`() throws {
        let value = ContentValue.object([.init("b", .unsigned(5)), .init("a", .null)])
        let bytes = try value.encode()
        let decoded = try ContentValue(content: bytes.rawBytes)
        #expect(decoded == .object([.init("a", .null), .init("b", .integer(5))]))
        #expect(try decoded.encode() == bytes)
        #expect(decoded["b"] == .integer(5) && decoded["c"] == nil && ContentValue.null["b"] == nil)
    }

    @Test func `a key twice, or a key that is too long → an error`() {
        let twice = ContentValue.object([.init("a", .null), .init("a", .null)])
        #expect(throws: WireError.duplicateField(.key)) { try twice.encode() }
        let long = ContentValue.object([.init(String(repeating: "k", count: 257), .null)])
        #expect(throws: WireError.invalidValue(.key)) { try long.encode() }
    }

    // M-17
    @Test func `values nested 7 deep → encoded; one deeper → tlvTooDeep`() throws {
        let deepest = (0..<ContentValue.maxDepth).reduce(ContentValue.null) { value, _ in .array([value]) }
        let bytes = try deepest.encode()
        #expect(try ContentValue(content: bytes.rawBytes) == deepest)
        #expect(throws: WireError.tlvTooDeep(limit: 8)) { try ContentValue.array([deepest]).encode() }
        #expect(throws: WireError.tlvTooDeep(limit: 8)) {
            try ContentValue.object([.init("a", deepest)]).encode()
        }
    }

    @Test func `more TLVs than a content may have → tooManyTLVs`() {
        let values = Array(repeating: ContentValue.null, count: ContentRules.maxTLVCount)
        #expect(throws: WireError.tooManyTLVs(limit: 1024)) { try ContentValue.array(values).encode() }
    }
}
