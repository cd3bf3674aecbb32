import Testing

@testable import MartletAuthentication

@Suite struct NumericDateTests {
    private func read(_ value: JSONValue) throws(TokenError) -> Int64? {
        try NumericDate.read("exp", [JSONMember(name: "exp", value: value)])
    }

    @Test func `an absent claim has no date`() throws {
        #expect(try NumericDate.read("exp", []) == nil)
    }

    @Test(
        arguments: [
            (.integer(0), 0), (.integer(1_300_819_380), 1_300_819_380), (.double(1_300_819_380), 1_300_819_380),
            (.double(0.25), 1), (.double(-0.5), 0), (.integer(253_402_300_799), 253_402_300_799),
            (.double(253_402_300_798.5), 253_402_300_799),
        ] as [(JSONValue, Int64)])
    func `a date is read and its fraction rounded up`(_ value: JSONValue, _ seconds: Int64) throws {
        #expect(try read(value) == seconds)
    }

    @Test(arguments: [
        JSONValue.integer(-1), .double(-1), .integer(253_402_300_800), .double(253_402_300_799.5), .integer(.max),
        .integer(.min), .double(1e300), .string("1"), .null, .bool(true), .array([.integer(1)]),
    ])
    func `a value that is no date up to the year 9999 is refused`(_ value: JSONValue) {
        #expect(throws: TokenError.invalidClaim("exp")) { try read(value) }
    }
}
