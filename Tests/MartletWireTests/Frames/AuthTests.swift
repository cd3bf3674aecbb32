import MartletWire
import Testing

@Suite("Auth")
struct AuthTests {
    // W-97
    @Test("an auth encodes to these bytes")
    func golden() {
        let auth = Auth(credential: Credential("pw"), credentialLifetime: .milliseconds(60_000))
        #expect(auth.encode() == bytes(hex: "0013 00000002 7077 001B 00000004 0000EA60"))
        #expect(Auth().encode() == [])
    }

    // W-97
    @Test("an auth without fields is parsed")
    func empty() throws {
        let auth = try Auth(parsing: [UInt8]().rawBytes)
        #expect(auth.credential == nil)
        #expect(auth.credentialLifetime == nil)
    }

    @Test("a message beyond its bound is refused")
    func longMessage() throws {
        func parse(byteCount: Int) throws -> Auth {
            try Auth([Field(.credential, Array(repeating: 0, count: byteCount))])
        }
        #expect(try parse(byteCount: 4096).credential?.bytes.count == 4096)
        #expect(throws: WireError.invalidValue(.credential)) { try parse(byteCount: 4097) }
    }

    @Test("the lifetime is rounded to milliseconds and clamped to 32 bits")
    func lifetime() {
        #expect(Auth(credentialLifetime: .microseconds(1999)).credentialLifetime == .milliseconds(1))
        #expect(Auth(credentialLifetime: .seconds(1 << 32)).credentialLifetime == .milliseconds(UInt32.max))
        #expect(Auth(credentialLifetime: .seconds(-1)).credentialLifetime == .zero)
    }

    @Test("the description does not contain the message")
    func redaction() {
        let shown = String(reflecting: Frame.auth(Auth(credential: Credential("hunter2"))))
        #expect(!shown.contains("hunter2"))
        #expect(shown.contains("redacted"))
    }
}
