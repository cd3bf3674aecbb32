import Testing

@testable import MartletAuthentication

@Suite struct JSONWebKeySetTests {
    private let rsaKey = TokenFixtures.rsaKey
    private let ecKey = TokenFixtures.ecKey
    private let secretKey = TokenFixtures.secretKey

    private func refusal(_ keys: String...) -> JSONWebKeySetError? {
        do throws(JSONWebKeySetError) {
            _ = try TokenFixtures.keySet(keys)
            return nil
        } catch {
            return error
        }
    }

    private func refusal(document: String) -> JSONWebKeySetError? {
        do throws(JSONWebKeySetError) {
            _ = try JSONWebKeySet(Array(document.utf8))
            return nil
        } catch {
            return error
        }
    }

    /// The key with a member before its others.
    private func key(_ key: String, with member: String) -> String {
        "{\(member),\(key.dropFirst())"
    }

    @Test func `keys of all four types are taken`() throws {
        let keys = try TokenFixtures.keySet()
        #expect(keys.keyCount == 4)
        #expect(keys.skippedKeyCount == 0)
    }

    @Test func `other members of the document and of keys are ignored`() throws {
        let key = key(rsaKey, with: #""x5c":["MII="],"x5t":"a","nbf":1"#)
        #expect(try JSONWebKeySet(Array("{\"a\":[],\"keys\":[\(key)]}".utf8)).keyCount == 1)
    }

    // RFC 7517 §5
    @Test(arguments: [
        #"{"kty":"AKP","alg":"ML-DSA-44","pub":"AA"}"#, #"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#,
        #"{"kty":"OKP","crv":"X25519","x":"AA"}"#, #"{"kty":"OKP","crv":"Ed448","x":"AA"}"#,
    ])
    func `a key of another type or curve is skipped`(_ other: String) throws {
        let keys = try TokenFixtures.keySet([other, rsaKey])
        #expect(keys.keyCount == 1)
        #expect(keys.skippedKeyCount == 1)
    }

    @Test(arguments: [
        #""use":"enc""#, #""key_ops":["encrypt"]"#, #""key_ops":[]"#, #""alg":"RSA-OAEP""#, #""alg":"PS256""#,
        #""alg":"none""#,
    ])
    func `a key for another use or algorithm is skipped`(_ member: String) throws {
        let keys = try TokenFixtures.keySet([key(rsaKey, with: member), ecKey])
        #expect(keys.keyCount == 1)
        #expect(keys.skippedKeyCount == 1)
    }

    @Test(arguments: [#""use":"sig""#, #""key_ops":["sign","verify"]"#, #""alg":"RS256""#])
    func `a key for signatures is taken`(_ member: String) throws {
        #expect(try TokenFixtures.keySet([key(rsaKey, with: member)]).keyCount == 1)
    }

    @Test func `a key with the algorithm of another type is refused`() {
        #expect(refusal(ecKey, key(rsaKey, with: #""alg":"HS256""#)) == .algorithmMismatch(index: 1))
        #expect(refusal(key(ecKey, with: #""alg":"RS256""#)) == .algorithmMismatch(index: 0))
        #expect(refusal(key(secretKey, with: #""alg":"EdDSA""#)) == .algorithmMismatch(index: 0))
    }

    @Test(arguments: [
        (#"{}"#, "kty"), (#"{"kty":"RSA","e":"AQAB"}"#, "n"), (#"{"kty":"RSA","n":"AQAB"}"#, "e"),
        (#"{"kty":"EC","x":"AA","y":"AA"}"#, "crv"), (#"{"kty":"EC","crv":"P-256","y":"AA"}"#, "x"),
        (#"{"kty":"EC","crv":"P-256","x":"AA"}"#, "y"), (#"{"kty":"OKP","crv":"Ed25519"}"#, "x"),
        (#"{"kty":"oct"}"#, "k"),
    ])
    func `a key without a required member is refused`(_ key: String, _ name: String) {
        #expect(refusal(rsaKey, key) == .missingMember(name, index: 1))
    }

    @Test(arguments: [
        (#"{"kty":1}"#, "kty"), (#"{"kty":"oct","k":["AA"]}"#, "k"), (#"{"kty":"oct","k":"AA=="}"#, "k"),
        (#"{"kty":"RSA","n":"a+/b","e":"AQAB"}"#, "n"), (#"{"kty":"oct","use":1}"#, "use"),
        (#"{"kty":"oct","key_ops":"verify"}"#, "key_ops"), (#"{"kty":"OKP","crv":null}"#, "crv"),
    ])
    func `a key with a member of the wrong form is refused`(_ key: String, _ name: String) {
        #expect(refusal(rsaKey, key) == .invalidMember(name, index: 1))
    }

    @Test func `a key with an algorithm or identifier that is no string is refused`() {
        #expect(refusal(key(ecKey, with: #""alg":1"#)) == .invalidMember("alg", index: 0))
        #expect(
            refusal(#"{"kty":"oct","kid":1,"k":"\#(Base64.encode(TokenFixtures.secret, .url))"}"#)
                == .invalidMember("kid", index: 0))
    }

    @Test(arguments: [
        #"{"kty":"RSA","n":"\#(SignatureVectors.weakModulus)","e":"AQAB"}"#,
        #"{"kty":"RSA","n":"\#(SignatureVectors.modulus)","e":"AQ"}"#,
        #"{"kty":"EC","crv":"P-256","x":"\#(SignatureVectors.y)","y":"\#(SignatureVectors.x)"}"#,
        #"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#,
        #"{"kty":"oct","k":"\#(Base64.encode(Array(TokenFixtures.secret.dropLast()), .url))"}"#,
    ])
    func `a weak or invalid key is refused`(_ key: String) {
        #expect(refusal(rsaKey, key) == .invalidKey(index: 1))
    }

    @Test func `two keys with the same identifier and algorithm are refused`() throws {
        #expect(refusal(rsaKey, ecKey, rsaKey) == .duplicateKeyID(index: 2))
        let sameName = ecKey.replacing(#""kid":"ec""#, with: #""kid":"rsa""#)
        #expect(try TokenFixtures.keySet([rsaKey, sameName]).keyCount == 2)
        let unnamed = rsaKey.replacing(#""kid":"rsa","#, with: "")
        #expect(try TokenFixtures.keySet([unnamed, unnamed]).keyCount == 2)
    }

    @Test func `a document without a usable key is refused`() {
        #expect(refusal() == .noUsableKey)
        #expect(refusal(#"{"kty":"AKP"}"#) == .noUsableKey)
    }

    @Test(arguments: [
        "[]", "{}", #"{"keys":{}}"#, #"{"keys":null}"#, #"{"kty":"oct","k":"AA"}"#, #"{"Keys":[]}"#,
    ])
    func `a document without an array of keys is refused`(_ document: String) {
        #expect(refusal(document: document) == .noKeyArray)
    }

    @Test func `an element that is no object is refused`() {
        #expect(refusal(rsaKey, "null") == .notAnObject(index: 1))
    }

    @Test(arguments: [(nil, #"{"alg":"HS256"}"#), ("hs", #"{"alg":"HS256","kid":"hs"}"#)] as [(String?, String)])
    func `the bytes of a secret verify the tokens of its key identifier`(_ keyID: String?, _ header: String) throws {
        let keys = try JSONWebKeySet(secret: TokenFixtures.secret, keyID: keyID)
        #expect(keys.keyCount == 1 && keys.skippedKeyCount == 0)
        let verifier = TokenVerifier(keys: keys, audience: "martlet")
        let payload = #"{"sub":"alice","aud":"martlet","exp":2000}"#
        let token = TokenFixtures.token(header: header, payload)
        #expect(try verifier.verify(token, now: 1000).subject == "alice")
        let other = TokenFixtures.token(header: #"{"alg":"HS256","kid":"other"}"#, payload)
        #expect(throws: TokenError.unknownKey) { try verifier.verify(other, now: 1000) }
        let forged = TokenFixtures.token(header: header, payload, secret: [UInt8](repeating: 9, count: 32))
        #expect(throws: TokenError.badSignature) { try verifier.verify(forged, now: 1000) }
    }

    @Test func `a secret of 31 bytes is refused`() {
        #expect(throws: JSONWebKeySetError.invalidKey(index: 0)) {
            try JSONWebKeySet(secret: [UInt8](repeating: 1, count: 31))
        }
    }

    @Test func `64 keys are taken and 65 are refused`() throws {
        let unnamed = #"{"kty":"oct","k":"\#(Base64.encode(TokenFixtures.secret, .url))"}"#
        #expect(try TokenFixtures.keySet(Array(repeating: unnamed, count: 64)).keyCount == 64)
        #expect(throws: JSONWebKeySetError.tooManyKeys(65)) {
            try TokenFixtures.keySet(Array(repeating: unnamed, count: 65))
        }
    }

    @Test func `a document of 256 KiB is taken and one byte more is refused`() throws {
        let document = TokenFixtures.document([rsaKey])
        let blanks = [UInt8](repeating: 0x20, count: JSONWebKeySet.maxByteCount - document.count)
        #expect(try JSONWebKeySet(document + blanks).keyCount == 1)
        #expect(throws: JSONWebKeySetError.invalidJSON(JSONError(reason: .tooLarge, offset: 262_144))) {
            try JSONWebKeySet(document + blanks + [0x20])
        }
    }

    @Test func `every truncation of a document is refused`() throws {
        let document = TokenFixtures.document(TokenFixtures.allKeys)
        for count in document.indices {
            #expect(throws: JSONWebKeySetError.self) { try JSONWebKeySet(Array(document.prefix(count))) }
        }
    }
}
