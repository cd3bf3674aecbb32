import MartletWire
import Testing

@Suite("Resume tokens")
struct ResumeTokenTests {
    @Test("a token of 32 bytes is accepted, any other length is refused")
    func tokenByteCount() {
        #expect(token.bytes == Array(0..<32))
        #expect(ResumeToken(token.bytes) == token)
        #expect(ResumeToken(Array(0..<31)) == nil)
        #expect(ResumeToken(Array(0..<33)) == nil)
        #expect(ResumeToken([]) == nil)
    }

    @Test("tokens that differ in one bit are unequal", arguments: 0..<256)
    func tokenEquality(_ bit: Int) {
        var bytes = token.bytes
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(ResumeToken(bytes) != token)
    }

    @Test("the description of a token does not contain its bytes")
    func redaction() {
        #expect("\(token)" == "ResumeToken(redacted)")
        #expect(String(reflecting: token) == "ResumeToken(redacted)")
        #expect(Mirror(reflecting: token).children.isEmpty)
    }
}
