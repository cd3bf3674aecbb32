import MartletWire
import Testing

@Suite struct RelayTimeTests {
    //
    @Test(arguments: [0, 1_700_000_000_000, UInt64.max])
    func `a time gives the same time, and each truncation is refused`(_ milliseconds: UInt64) throws {
        let content = RelayTime(wallClock: milliseconds).content
        #expect(try RelayTime(parsing: content).wallClock == milliseconds)
        for count in content.indices {
            #expect(throws: WireError.self) { try RelayTime(parsing: Array(content.prefix(count))) }
        }
        #expect(throws: WireError.duplicateField(.acceptedAt)) { try RelayTime(parsing: content + content) }
        #expect(throws: WireError.missingField(.acceptedAt)) { try RelayTime(parsing: nil) }
    }
}
