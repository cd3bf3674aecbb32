import MartletWire
import Testing

@Suite("Credentials")
struct CredentialTests {
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

    @Test("A credential does not show itself")
    func redaction() throws {
        let credential = try #require(Credential("hunter2"))
        #expect("\(credential)" == "Credential(redacted)")
        #expect(String(reflecting: credential) == "Credential(redacted)")
        #expect(Mirror(reflecting: credential).children.isEmpty)
    }
}
