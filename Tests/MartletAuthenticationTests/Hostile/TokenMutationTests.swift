import Testing

@testable import MartletAuthentication

/// Changed tokens of every algorithm are refused.
@Suite struct TokenMutationTests {
    private static let tokens = [
        Array(SignatureVectors.rs256.utf8), Array(SignatureVectors.es256.utf8), Array(SignatureVectors.edDSA.utf8),
        TokenFixtures.token(#"{"sub":"alice","aud":"martlet","exp":2000000000}"#),
    ]

    private func isTaken(_ token: [UInt8], by verifier: TokenVerifier) -> Bool {
        (try? verifier.verify(token, now: TokenFixtures.now)) != nil
    }

    @Test(arguments: tokens)
    func `a token with any bit flipped is refused`(_ token: [UInt8]) throws {
        let verifier = try TokenFixtures.verifier()
        #expect(isTaken(token, by: verifier))
        for offset in token.indices {
            for bit in 0..<8 {
                var changed = token
                changed[offset] ^= 1 << UInt8(bit)
                if isTaken(changed, by: verifier) { Issue.record("bit \(bit) of byte \(offset) has no effect") }
            }
        }
    }

    @Test(arguments: tokens)
    func `every truncation and extension of a token is refused`(_ token: [UInt8]) throws {
        let verifier = try TokenFixtures.verifier()
        for count in token.indices {
            #expect(!isTaken(Array(token.prefix(count)), by: verifier))
            #expect(!isTaken(Array(token.suffix(count)), by: verifier))
        }
        for byte in UInt8.min...UInt8.max {
            #expect(!isTaken(token + [byte], by: verifier))
            #expect(!isTaken([byte] + token, by: verifier))
        }
    }

    @Test(arguments: tokens)
    func `a token with random bytes replaced, removed or repeated is refused`(_ token: [UInt8]) throws {
        let verifier = try TokenFixtures.verifier()
        var random = Generator(state: UInt64(token.count))
        for _ in 0..<500 {
            let start = Int.random(in: token.indices, using: &random)
            let end = Int.random(in: start...min(start + 8, token.count), using: &random)
            var changed = token
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                changed.replaceSubrange(
                    start..<end, with: (0..<3).map { _ in UInt8.random(in: 0x2D...0x7A, using: &random) })
            case 1: changed.removeSubrange(start..<end)
            default: changed.insert(contentsOf: token[start..<end], at: end)
            }
            if changed != token { #expect(!isTaken(changed, by: verifier)) }
        }
    }

    @Test func `parts of two valid tokens do not make a third`() throws {
        let verifier = try TokenFixtures.verifier()
        let parts = Self.tokens.map { $0.split(separator: UInt8(ascii: ".")) }
        for first in parts.indices {
            for other in parts.indices where other != first {
                let mixed = [parts[first][0], parts[first][1], parts[other][2]]
                let token = Array(mixed.joined(separator: [UInt8(ascii: ".")]))
                #expect(throws: TokenError.badSignature) { try verifier.verify(token, now: TokenFixtures.now) }
            }
        }
    }
}

/// SplitMix64.
private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
