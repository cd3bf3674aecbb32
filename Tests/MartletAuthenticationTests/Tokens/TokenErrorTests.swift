import Testing

@testable import MartletAuthentication

@Suite struct TokenErrorTests {
    @Test func `every description is one different line`() {
        let errors: [TokenError] = [
            .tooLarge, .malformed(.serialization), .malformed(.header), .malformed(.payload), .malformed(.signature),
            .criticalHeader, .wrongType, .unknownKey, .ambiguousKey, .algorithmNotAllowed, .badSignature,
            .missingClaim("sub"), .invalidClaim("sub"), .wrongIssuer, .wrongAudience, .expired(at: 5),
            .notYetValid(at: 5), .tooManyClaims,
        ]
        #expect(Set(errors.map(\.description)).count == errors.count)
        #expect(errors.allSatisfy { $0.description.hasPrefix("the token") || $0 == .unknownKey })
        #expect(!errors.contains { $0.description.contains("\n") })
    }

    @Test func `descriptions contain times, bounds and names of claims`() {
        #expect(TokenError.expired(at: 5).description == "the token expired at 5")
        #expect(TokenError.tooLarge.description == "the token has more than 4096 bytes")
        #expect(TokenError.missingClaim("sub").description == "the token has no claim \"sub\"")
    }
}
