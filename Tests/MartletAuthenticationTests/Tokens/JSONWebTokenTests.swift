import Testing

@testable import MartletAuthentication

@Suite struct JSONWebTokenTests {
    private func refusal(_ token: [UInt8]) -> TokenError? {
        do throws(TokenError) {
            _ = try JSONWebToken(token)
            return nil
        } catch {
            return error
        }
    }

    private func refusal(header: String) -> TokenError? {
        refusal(TokenFixtures.token(header: header, "{}"))
    }

    @Test func `a header with algorithm and key identifier is parsed`() throws {
        let token = try JSONWebToken(TokenFixtures.token(header: #"{"kid":"a","alg":"ES256","x5u":[1]}"#, "{}"))
        #expect(token.header.algorithm == "ES256")
        #expect(token.header.keyID == "a")
    }

    @Test(arguments: [
        "", ".", "..", "e30", "e30.e30", "e30.e30.", "e30..AA", ".e30.AA", "e30.e30.AA.", "e30.e30.AA.AA",
    ])
    func `a token without three parts that are not empty is refused`(_ token: String) {
        #expect(refusal(Array(token.utf8)) == .malformed(.serialization))
    }

    @Test(arguments: [
        "e30=.e30.AA", "e3 0.e30.AA", "e31.e30.AA", "\u{0}.e30.AA", "bnVsbA.e30.AA", "W10.e30.AA", "eyI.e30.AA",
        " .e30.AA",
    ])
    func `a header that is no base64url or no JSON object is refused`(_ token: String) {
        #expect(refusal(Array(token.utf8)) == .malformed(.header))
    }

    @Test(arguments: ["=", "A", "AB", "AA=", "A+A/", "AA\n", "é"])
    func `a signature that is no base64url is refused`(_ signature: String) {
        let header = Base64.encode(Array(#"{"alg":"HS256"}"#.utf8), .url)
        #expect(refusal(Array("\(header).e30.\(signature)".utf8)) == .malformed(.signature))
    }

    @Test(arguments: [
        #"{}"#, #"{"alg":null}"#, #"{"alg":["HS256"]}"#, #"{"alg":"HS256","kid":1}"#, #"{"alg":"HS256","typ":1}"#,
        #"{"alg":"HS256","alg":"HS256"}"#, #"{"ALG":"HS256"}"#,
    ])
    func `a header with a missing, repeated or wrongly typed member is refused`(_ header: String) {
        #expect(refusal(header: header) == .malformed(.header))
    }

    @Test(arguments: [#"["exp"]"#, "[]", "null", #"["b64"]"#])
    func `a header with critical extensions is refused`(_ value: String) {
        #expect(refusal(header: #"{"alg":"HS256","crit":\#(value),"b64":false}"#) == .criticalHeader)
    }

    // C-85
    @Test(arguments: ["JWT", "jwt", "at+jwt", "AT+JWT", "application/jwt", "application/at+jwt"])
    func `the types of tokens are taken`(_ type: String) {
        #expect(refusal(header: #"{"alg":"HS256","typ":"\#(type)"}"#) == nil)
    }

    @Test(arguments: ["", "JWS", "JOSE", "dpop+jwt", "logout+jwt", "JWT ", "text/jwt"])
    func `another type is refused`(_ type: String) {
        #expect(refusal(header: #"{"alg":"HS256","typ":"\#(type)"}"#) == .wrongType)
    }

    @Test func `the payload is not parsed before its signature is verified`() throws {
        let key = try #require(VerificationKey(.secret(Array(repeating: 7, count: 32))))
        let token = try JSONWebToken(TokenFixtures.token("not JSON"))
        #expect(throws: TokenError.badSignature) { try token.payload(verifiedBy: key) }
    }

    @Test(arguments: ["null", "[]", #"{"a":1,"a":2}"#, "{} {}"])
    func `a signed payload that is no JSON object is refused`(_ payload: String) throws {
        let key = try #require(VerificationKey(.secret(TokenFixtures.secret)))
        let token = try JSONWebToken(TokenFixtures.token(payload))
        #expect(throws: TokenError.malformed(.payload)) { try token.payload(verifiedBy: key) }
    }
}
