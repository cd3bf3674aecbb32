import MartletWire
import Testing

@Suite("Credentials")
struct CredentialTests {
    @Test("a credential of 4096 bytes is accepted, one byte more is refused")
    func credentialByteCount() {
        #expect(Credential([])?.bytes == [])
        #expect(Credential(String(repeating: "a", count: 4096)) != nil)
        #expect(Credential(String(repeating: "a", count: 4097)) == nil)
    }

    @Test("credentials that differ in a byte or in length are unequal")
    func credentialEquality() {
        #expect(Credential("abc") == Credential("abc"))
        for other in ["bbc", "acc", "abd", "ab", "abcd", ""] { #expect(Credential("abc") != Credential(other)) }
    }

    @Test("the description of a credential does not contain its bytes")
    func redaction() throws {
        let credential = try #require(Credential("hunter2"))
        #expect("\(credential)" == "Credential(redacted)")
        #expect(String(reflecting: credential) == "Credential(redacted)")
        #expect(Mirror(reflecting: credential).children.isEmpty)
    }
}
