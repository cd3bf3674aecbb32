import Testing

@testable import MartletAuthentication

@Suite struct TokenVerifierTests {
    private let now: Int64 = 1000

    /// The refusal of a token with this payload; nil if it is taken.
    private func refusal(
        _ payload: String, header: String = #"{"alg":"HS256","kid":"hs"}"#, keys: [String] = TokenFixtures.allKeys,
        issuer: String? = nil, leeway: Int64 = 0
    ) throws -> TokenError? {
        let verifier = try TokenFixtures.verifier(keys, issuer: issuer, leeway: leeway)
        return refusal(TokenFixtures.token(header: header, payload), verifier)
    }

    private func refusal(_ token: [UInt8], _ verifier: TokenVerifier) -> TokenError? {
        do throws(TokenError) {
            _ = try verifier.verify(token, now: now)
            return nil
        } catch {
            return error
        }
    }

    /// A payload with the claims that are always required, and others.
    private func payload(_ others: String) -> String {
        #"{"sub":"alice","aud":"martlet","exp":1001\#(others.isEmpty ? "" : ",")\#(others)}"#
    }

    // MARK: - Tokens that are taken

    @Test(arguments: [SignatureVectors.rs256, SignatureVectors.es256, SignatureVectors.edDSA])
    func `a token by another program is taken until it expires`(_ token: String) throws {
        let verifier = try TokenFixtures.verifier()
        let claims = try verifier.verify(Array(token.utf8), now: TokenFixtures.now)
        #expect(claims.subject == "alice")
        #expect(claims.expiresAt == 2_000_000_000)
        #expect(throws: TokenError.expired(at: 2_000_000_000)) {
            try verifier.verify(Array(token.utf8), now: TokenFixtures.now + 1)
        }
    }

    @Test func `subject, expiration, roles and text claims are returned`() throws {
        let token = TokenFixtures.token(payload(#""roles":["admin"],"team":"blue""#))
        let claims = try TokenFixtures.verifier().verify(token, now: now)
        #expect(claims.subject == "alice")
        #expect(claims.expiresAt == 1001)
        #expect(claims.roles == ["admin"])
        #expect(claims.text(of: "team") == "blue")
        #expect(claims.text(of: "aud") == "martlet")
    }

    // RFC 7515 A.1 to A.3 sign a payload without audience, RFC 8037 A.4 one that is no JSON.
    @Test func `the tokens of the RFCs are refused for their claims and not for their signatures`() throws {
        let vectors = [
            (#"{"kty":"oct","k":"\#(SignatureVectors.rfc7515Secret)"}"#, SignatureVectors.rfc7515HS256),
            (#"{"kty":"RSA","n":"\#(SignatureVectors.rfc7515Modulus)","e":"AQAB"}"#, SignatureVectors.rfc7515RS256),
            (
                #"{"kty":"EC","crv":"P-256","x":"\#(SignatureVectors.rfc7515X)","y":"\#(SignatureVectors.rfc7515Y)"}"#,
                SignatureVectors.rfc7515ES256
            ),
        ]
        for (key, token) in vectors {
            #expect(refusal(Array(token.utf8), try TokenFixtures.verifier([key])) == .missingClaim("aud"))
        }
        let key = #"{"kty":"OKP","crv":"Ed25519","x":"\#(SignatureVectors.rfc8037X)"}"#
        let token = Array(SignatureVectors.rfc8037EdDSA.utf8)
        #expect(refusal(token, try TokenFixtures.verifier([key])) == .malformed(.payload))
    }

    // MARK: - Size

    @Test func `a token of 4096 bytes is taken and one of more is refused`() throws {
        func token(_ count: Int) -> [UInt8] {
            TokenFixtures.token(payload("\"a\":\"\(String(repeating: "a", count: count))\""))
        }
        let count = try #require((2900...3100).last { token($0).count <= TokenVerifier.maxTokenByteCount })
        #expect(token(count).count == 4096)
        #expect(refusal(token(count), try TokenFixtures.verifier()) == nil)
        #expect(refusal(token(count + 1), try TokenFixtures.verifier()) == .tooLarge)
    }

    // MARK: - Keys and algorithms

    @Test(arguments: ["none", "None", "", "HS512", "PS256", "ES256K", "hs256", "Ed25519"])
    func `an algorithm that no key has is refused`(_ algorithm: String) throws {
        #expect(try refusal(payload(""), header: #"{"alg":"\#(algorithm)"}"#) == .algorithmNotAllowed)
        #expect(try refusal(payload(""), header: #"{"alg":"\#(algorithm)","kid":"hs"}"#) == .algorithmNotAllowed)
    }

    @Test func `an unsigned token is refused`() throws {
        let header = Base64.encode(Array(#"{"alg":"none"}"#.utf8), .url)
        let body = Base64.encode(Array(payload("").utf8), .url)
        let verifier = try TokenFixtures.verifier()
        #expect(refusal(Array("\(header).\(body).".utf8), verifier) == .malformed(.serialization))
        #expect(refusal(Array("\(header).\(body).AA".utf8), verifier) == .algorithmNotAllowed)
    }

    // RFC 8725 §2.1
    @Test(arguments: ["rsa", "ec", "ed"])
    func `HS256 with the identifier of a public key is refused`(_ keyID: String) throws {
        #expect(try refusal(payload(""), header: #"{"alg":"HS256","kid":"\#(keyID)"}"#) == .algorithmNotAllowed)
    }

    // RFC 8725 §2.1
    @Test func `HS256 with an RSA public key as its secret is refused`() throws {
        let modulus = try #require(Base64.decode(Array(SignatureVectors.modulus.utf8), .url))
        for secret in [modulus, Array(SignatureVectors.modulus.utf8), Array(TokenFixtures.rsaKey.utf8)] {
            let named = TokenFixtures.token(header: #"{"alg":"HS256","kid":"rsa"}"#, payload(""), secret: secret)
            let unnamed = TokenFixtures.token(header: #"{"alg":"HS256"}"#, payload(""), secret: secret)
            #expect(refusal(named, try TokenFixtures.verifier()) == .algorithmNotAllowed)
            #expect(refusal(unnamed, try TokenFixtures.verifier([TokenFixtures.rsaKey])) == .algorithmNotAllowed)
            #expect(refusal(unnamed, try TokenFixtures.verifier()) == .badSignature)
        }
    }

    @Test func `HS256 without identifier is refused by a set of public keys`() throws {
        let keys = [TokenFixtures.rsaKey, TokenFixtures.ecKey]
        #expect(try refusal(payload(""), header: #"{"alg":"HS256"}"#, keys: keys) == .algorithmNotAllowed)
    }

    @Test func `RS256 with the identifier of a secret is refused`() throws {
        #expect(try refusal(payload(""), header: #"{"alg":"RS256","kid":"hs"}"#) == .algorithmNotAllowed)
    }

    @Test func `PS256 is refused for an RSA key`() throws {
        #expect(
            refusal(Array(SignatureVectors.ps256.utf8), try TokenFixtures.verifier()) == .algorithmNotAllowed)
    }

    @Test(arguments: ["other", "", "HS", "hs "])
    func `an unknown key identifier is refused`(_ keyID: String) throws {
        #expect(try refusal(payload(""), header: #"{"alg":"HS256","kid":"\#(keyID)"}"#) == .unknownKey)
    }

    @Test func `a key without identifier is not selected by an identifier`() throws {
        let key = TokenFixtures.secretKey.replacing(#""kid":"hs","#, with: "")
        #expect(try refusal(payload(""), keys: [key]) == .unknownKey)
        #expect(try refusal(payload(""), header: #"{"alg":"HS256"}"#, keys: [key]) == nil)
    }

    @Test func `without identifier the only key of the algorithm is used`() throws {
        #expect(try refusal(payload(""), header: #"{"alg":"HS256"}"#) == nil)
    }

    @Test func `without identifier several keys of the algorithm are ambiguous`() throws {
        let other = TokenFixtures.secretKey.replacing(#""kid":"hs""#, with: #""kid":"b""#)
        let keys = [TokenFixtures.secretKey, other]
        #expect(try refusal(payload(""), header: #"{"alg":"HS256"}"#, keys: keys) == .ambiguousKey)
        #expect(try refusal(payload(""), header: #"{"alg":"HS256","kid":"b"}"#, keys: keys) == nil)
    }

    @Test func `keys of two types with the same identifier are distinguished by the algorithm`() throws {
        let key = TokenFixtures.ecKey.replacing(#""kid":"ec""#, with: #""kid":"hs""#)
        #expect(try refusal(payload(""), keys: [key, TokenFixtures.secretKey]) == nil)
    }

    @Test func `a token signed with another secret is refused`() throws {
        let secret = Base64.encode(Array(repeating: 9, count: 32), .url)
        #expect(try refusal(payload(""), keys: [#"{"kty":"oct","kid":"hs","k":"\#(secret)"}"#]) == .badSignature)
    }

    @Test func `an invalid signature is reported before expired or missing claims`() throws {
        let secret = Base64.encode(Array(repeating: 9, count: 32), .url)
        let keys = [#"{"kty":"oct","kid":"hs","k":"\#(secret)"}"#]
        #expect(try refusal(#"{"exp":1}"#, keys: keys) == .badSignature)
        #expect(try refusal("no JSON", keys: keys) == .badSignature)
    }

    @Test func `critical extensions and other types are refused although the signature is valid`() throws {
        #expect(try refusal(payload(""), header: #"{"alg":"HS256","crit":["exp"]}"#) == .criticalHeader)
        #expect(try refusal(payload(""), header: #"{"alg":"HS256","typ":"dpop+jwt"}"#) == .wrongType)
    }

    // MARK: - Claims

    @Test(arguments: [
        (#"{"aud":"martlet","exp":1001}"#, "sub"), (#"{"sub":"alice","exp":1001}"#, "aud"),
        (#"{"sub":"alice","aud":"martlet"}"#, "exp"), (#"{}"#, "aud"),
    ])
    func `a token without a required claim is refused`(_ payload: String, _ name: String) throws {
        #expect(try refusal(payload) == .missingClaim(name))
    }

    @Test(arguments: [
        (#"{"sub":"","aud":"martlet","exp":1001}"#, "sub"), (#"{"sub":1,"aud":"martlet","exp":1001}"#, "sub"),
        (#"{"sub":"alice","aud":1,"exp":1001}"#, "aud"), (#"{"sub":"alice","aud":["martlet",1],"exp":1001}"#, "aud"),
        (#"{"sub":"alice","aud":"martlet","exp":"1001"}"#, "exp"),
        (#"{"sub":"alice","aud":"martlet","exp":1e300}"#, "exp"),
        (#"{"sub":"alice","aud":"martlet","exp":1001,"nbf":"1"}"#, "nbf"),
        (#"{"sub":"alice","aud":"martlet","exp":1001,"iat":null}"#, "iat"),
        (#"{"sub":"alice","aud":"martlet","exp":1001,"roles":"admin"}"#, "roles"),
    ])
    func `a claim of the wrong type is refused`(_ payload: String, _ name: String) throws {
        #expect(try refusal(payload) == .invalidClaim(name))
    }

    @Test(arguments: [#""other""#, #"["other"]"#, "[]", #""""#, #""Martlet""#, #""martlet ""#, #"["mart","let"]"#])
    func `another audience is refused`(_ audience: String) throws {
        #expect(try refusal(#"{"sub":"alice","exp":1001,"aud":\#(audience)}"#) == .wrongAudience)
    }

    @Test func `an array that contains the audience is taken`() throws {
        #expect(try refusal(#"{"sub":"alice","exp":1001,"aud":["other","martlet"]}"#) == nil)
    }

    @Test func `the issuer must be the required one`() throws {
        #expect(try refusal(payload(#""iss":"a""#), issuer: "a") == nil)
        #expect(try refusal(payload(#""iss":"A""#), issuer: "a") == .wrongIssuer)
        #expect(try refusal(payload(#""iss":["a"]"#), issuer: "a") == .invalidClaim("iss"))
        #expect(try refusal(payload(""), issuer: "a") == .missingClaim("iss"))
        #expect(try refusal(payload(#""iss":"b""#)) == nil)
    }

    @Test func `issuers that only look equal are different`() throws {
        #expect(try refusal(payload(#""iss":"\u00e9""#), issuer: "\u{E9}") == nil)
        #expect(try refusal(payload(#""iss":"e\u0301""#), issuer: "\u{E9}") == .wrongIssuer)
    }

    @Test func `a token is taken before its expiration and the leeway after it`() throws {
        #expect(try refusal(payload("")) == nil)
        #expect(try refusal(#"{"sub":"a","aud":"martlet","exp":1000}"#) == .expired(at: 1000))
        #expect(try refusal(#"{"sub":"a","aud":"martlet","exp":941}"#, leeway: 60) == nil)
        #expect(try refusal(#"{"sub":"a","aud":"martlet","exp":940}"#, leeway: 60) == .expired(at: 940))
        #expect(try refusal(#"{"sub":"a","aud":"martlet","exp":1000.5}"#) == nil)
    }

    @Test(arguments: ["nbf", "iat"])
    func `a token is taken from its start and the leeway before it`(_ name: String) throws {
        #expect(try refusal(payload(#""\#(name)":1000"#)) == nil)
        #expect(try refusal(payload(#""\#(name)":1001"#)) == .notYetValid(at: 1001))
        #expect(try refusal(payload(#""\#(name)":1060"#), leeway: 60) == nil)
        #expect(try refusal(payload(#""\#(name)":1061"#), leeway: 60) == .notYetValid(at: 1061))
    }

    @Test func `the later of both starts is reported`() throws {
        #expect(try refusal(payload(#""nbf":1001,"iat":1002"#)) == .notYetValid(at: 1002))
        #expect(try refusal(payload(#""nbf":1002,"iat":1001"#)) == .notYetValid(at: 1002))
    }

    @Test func `the default leeway is 60 seconds`() throws {
        let verifier = TokenVerifier(keys: try TokenFixtures.keySet(), audience: "martlet")
        #expect(refusal(TokenFixtures.token(#"{"sub":"a","aud":"martlet","exp":941}"#), verifier) == nil)
        #expect(
            refusal(TokenFixtures.token(#"{"sub":"a","aud":"martlet","exp":940}"#), verifier) == .expired(at: 940))
    }

    @Test func `the extremes of dates and clocks do not overflow`() throws {
        let verifier = TokenVerifier(
            keys: try TokenFixtures.keySet(), audience: "martlet", leeway: TokenVerifier.maxLeeway)
        let token = TokenFixtures.token(#"{"sub":"a","aud":"martlet","exp":253402300799,"nbf":0}"#)
        #expect(throws: TokenError.expired(at: 253_402_300_799)) { try verifier.verify(token, now: .max) }
        #expect(throws: TokenError.notYetValid(at: 0)) { try verifier.verify(token, now: .min) }
        #expect(try verifier.verify(token, now: 0).expiresAt == 253_402_300_799)
    }
}
