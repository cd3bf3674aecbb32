import MartletWire
import Testing

@Suite("Resume tokens")
struct ResumeTokenTests {
    @Test("A token is 32 bytes")
    func tokenByteCount() {
        #expect(token.bytes == Array(0..<32))
        #expect(ResumeToken(token.bytes) == token)
        #expect(ResumeToken(Array(0..<31)) == nil)
        #expect(ResumeToken(Array(0..<33)) == nil)
        #expect(ResumeToken([]) == nil)
    }

    @Test("Tokens differ by any one bit", arguments: 0..<256)
    func tokenEquality(_ bit: Int) {
        var bytes = token.bytes
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(ResumeToken(bytes) != token)
    }

    @Test("A token does not show itself")
    func redaction() {
        #expect("\(token)" == "ResumeToken(redacted)")
        #expect(String(reflecting: token) == "ResumeToken(redacted)")
        #expect(Mirror(reflecting: token).children.isEmpty)
    }
}
