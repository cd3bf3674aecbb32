import Testing

@testable import MartletAuthentication

@Suite struct JSONErrorTests {
    @Test func `a description contains the reason and the offset`() {
        #expect(JSONError(reason: .duplicateName, offset: 7).description == "duplicate name at offset 7")
        #expect(JSONError(reason: .trailingBytes, offset: 0).description == "bytes after the value at offset 0")
    }
}
