import Testing

@testable import MartletAuthentication

@Suite struct JSONValueTests {
    @Test func `an array that contains only strings has texts`() {
        #expect(JSONValue.array([.string("a"), .string("b")]).strings == ["a", "b"])
        #expect(JSONValue.array([]).strings == [])
        #expect(JSONValue.array([.string("a"), .null]).strings == nil)
        #expect(JSONValue.string("a").strings == nil)
    }

    @Test func `strings are compared by bytes and not by characters`() {
        #expect("é".hasSameBytes(as: "\u{E9}"))
        #expect("\u{E9}" == "e\u{301}")
        #expect(!"\u{E9}".hasSameBytes(as: "e\u{301}"))
    }
}
