import MartletLink
import MartletRelay
import Testing

@Suite("Claims of an identity")
struct ClaimsTests {
    @Test func `canonically equivalent roles, names and values → different claims`() {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        #expect(Claims(roles: [composed]) != Claims(roles: [decomposed]))
        #expect(Claims(values: [composed: "a"]) != Claims(values: [decomposed: "a"]))
        #expect(Claims(values: ["a": composed]) != Claims(values: ["a": decomposed]))
        let claims = Claims(roles: [composed, "b"], values: [composed: composed, "a": "b"])
        #expect(claims == Claims(roles: [composed, "b"], values: [composed: composed, "a": "b"]))
        #expect(claims.has(composed, composed) && !claims.has(decomposed, composed))
    }
}
