import MartletWire
import Testing

@Suite("Secrets")
struct SecretTests {
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

    @Test("A credential is at most 4096 bytes")
    func credentialByteCount() {
        #expect(Credential([])?.bytes == [])
        #expect(Credential(String(repeating: "a", count: 4096)) != nil)
        #expect(Credential(String(repeating: "a", count: 4097)) == nil)
    }

    @Test("Credentials differ by any byte and by length")
    func credentialEquality() {
        #expect(Credential("abc") == Credential("abc"))
        for other in ["bbc", "acc", "abd", "ab", "abcd", ""] { #expect(Credential("abc") != Credential(other)) }
    }

    @Test("Neither shows itself")
    func redaction() throws {
        let credential = try #require(Credential("hunter2"))
        #expect("\(token)" == "ResumeToken(redacted)")
        #expect(String(reflecting: token) == "ResumeToken(redacted)")
        #expect(Mirror(reflecting: token).children.isEmpty)
        #expect("\(credential)" == "Credential(redacted)")
        #expect(String(reflecting: credential) == "Credential(redacted)")
        #expect(Mirror(reflecting: credential).children.isEmpty)
    }
}
