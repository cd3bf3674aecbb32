import Testing

@testable import MartletAuthentication

@Suite struct VerificationKeyTests {
    private func decoded(_ text: String) throws -> [UInt8] {
        try #require(Base64.decode(text.utf8, .url))
    }

    private func key(_ material: VerificationKey.Material) throws -> VerificationKey {
        try #require(VerificationKey(material))
    }

    /// Whether the key made the signature of a token in compact serialization.
    private func verifies(_ key: VerificationKey, _ token: String) throws -> Bool {
        let end = try #require(token.lastIndex(of: "."))
        return key.verifies(
            try decoded(String(token[token.index(after: end)...])), of: Array(token[..<end].utf8))
    }

    private func rsaKey(_ modulus: String = SignatureVectors.modulus) throws -> VerificationKey {
        try key(.rsa(modulus: try decoded(modulus), exponent: [1, 0, 1]))
    }

    private func p256Key(_ x: String = SignatureVectors.x, _ y: String = SignatureVectors.y) throws -> VerificationKey {
        try key(.p256(x: try decoded(x), y: try decoded(y)))
    }

    private func ed25519Key(_ x: String = SignatureVectors.ed25519) throws -> VerificationKey {
        try key(.ed25519(try decoded(x)))
    }

    // MARK: - Vectors

    @Test func `the HS256 signature of RFC 7515 A.1 is valid`() throws {
        let key = try key(.secret(try decoded(SignatureVectors.rfc7515Secret)))
        #expect(key.algorithm == .hs256)
        #expect(try verifies(key, SignatureVectors.rfc7515HS256))
    }

    @Test func `the RS256 signature of RFC 7515 A.2 is valid`() throws {
        let key = try rsaKey(SignatureVectors.rfc7515Modulus)
        #expect(key.algorithm == .rs256)
        #expect(try verifies(key, SignatureVectors.rfc7515RS256))
    }

    @Test func `the ES256 signature of RFC 7515 A.3 is valid`() throws {
        let key = try p256Key(SignatureVectors.rfc7515X, SignatureVectors.rfc7515Y)
        #expect(key.algorithm == .es256)
        #expect(try verifies(key, SignatureVectors.rfc7515ES256))
    }

    @Test func `the EdDSA signature of RFC 8037 A.4 is valid`() throws {
        let key = try ed25519Key(SignatureVectors.rfc8037X)
        #expect(key.algorithm == .edDSA)
        #expect(try verifies(key, SignatureVectors.rfc8037EdDSA))
    }

    @Test func `signatures by another program are valid for their key and no other`() throws {
        let keys = [
            try rsaKey(), try p256Key(), try ed25519Key(), try rsaKey(SignatureVectors.rfc7515Modulus),
            try p256Key(SignatureVectors.rfc7515X, SignatureVectors.rfc7515Y),
            try ed25519Key(SignatureVectors.rfc8037X),
        ]
        for (index, token) in [SignatureVectors.rs256, SignatureVectors.es256, SignatureVectors.edDSA].enumerated() {
            #expect(try keys.indices.filter { try verifies(keys[$0], token) } == [index])
        }
    }

    // MARK: - Signatures that are refused

    @Test func `an RSA signature with another padding or digest is refused`() throws {
        #expect(try !verifies(try rsaKey(), SignatureVectors.pssAsRS256))
        #expect(try !verifies(try rsaKey(), SignatureVectors.sha384AsRS256))
    }

    @Test func `an ECDSA signature in DER is refused`() throws {
        #expect(try !verifies(try p256Key(), SignatureVectors.derAsES256))
    }

    @Test func `an ECDSA signature with zeros or numbers above the order is refused`() throws {
        let key = try p256Key()
        for byte in [0, 1, 0xFF] as [UInt8] {
            #expect(!key.verifies(Array(repeating: byte, count: 64), of: []))
        }
    }

    @Test func `an Ed25519 signature with an unreduced number is refused`() throws {
        #expect(try !verifies(try ed25519Key(), SignatureVectors.unreducedEdDSA))
    }

    @Test func `a signature of another length is refused by every algorithm`() throws {
        let secret = try key(.secret(Array(repeating: 1, count: 32)))
        for key in [try rsaKey(), try p256Key(), try ed25519Key(), secret] {
            for count in [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 4096] {
                #expect(!key.verifies(Array(repeating: 0, count: count), of: [1, 2, 3]))
            }
        }
        let signature = try decoded(String(SignatureVectors.edDSA.split(separator: ".")[2]))
        #expect(!(try ed25519Key()).verifies(signature + [0], of: []))
    }

    // MARK: - Keys that are refused

    @Test func `an RSA key of 2047 bits or less is refused`() throws {
        let weak = try decoded(SignatureVectors.weakModulus)
        #expect(VerificationKey(.rsa(modulus: weak, exponent: [1, 0, 1])) == nil)
        var modulus = try decoded(SignatureVectors.modulus)
        #expect(modulus.count == 256)
        modulus[0] = 0x7F
        #expect(VerificationKey(.rsa(modulus: modulus, exponent: [1, 0, 1])) == nil)
        #expect(VerificationKey(.rsa(modulus: [], exponent: [1, 0, 1])) == nil)
    }

    @Test func `an RSA key of 8192 bits is taken and a longer one is refused`() {
        let modulus = [UInt8](repeating: 0xFF, count: 1024)
        #expect(VerificationKey(.rsa(modulus: modulus, exponent: [1, 0, 1])) != nil)
        #expect(VerificationKey(.rsa(modulus: [1] + modulus, exponent: [1, 0, 1])) == nil)
    }

    // C-85, Specs/hostile.md row 92
    @Test func `an Ed25519 key of small order, or with coordinates that are not reduced -> refused`() throws {
        let zeros = [UInt8](repeating: 0, count: 31)
        let ones = [UInt8](repeating: 0xFF, count: 30)
        let order8: [UInt8] = [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5, 0xDF,
            0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ]
        var keys = [[0] + zeros, [1] + zeros, order8]
        for byte in 0xEC...0xFF as ClosedRange<UInt8> { keys.append([byte] + ones + [0x7F]) }
        for key in keys {
            #expect(VerificationKey(.ed25519(key)) == nil)
            #expect(VerificationKey(.ed25519(key[..<31] + [key[31] | 0x80])) == nil)
        }
        // The base point, and one more than the smallest coordinates.
        #expect(VerificationKey(.ed25519([0x58] + [UInt8](repeating: 0x66, count: 31))) != nil)
    }

    @Test func `an RSA modulus that is even or begins with zero is refused`() throws {
        var modulus = try decoded(SignatureVectors.modulus)
        #expect(VerificationKey(.rsa(modulus: [0] + modulus, exponent: [1, 0, 1])) == nil)
        modulus[255] &= 0xFE
        #expect(VerificationKey(.rsa(modulus: modulus, exponent: [1, 0, 1])) == nil)
    }

    @Test(arguments: [[], [0], [1], [2], [0, 3], [1, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 1]] as [[UInt8]])
    func `an RSA exponent that is 1, even, too long or begins with zero is refused`(_ exponent: [UInt8]) throws {
        #expect(VerificationKey(.rsa(modulus: try decoded(SignatureVectors.modulus), exponent: exponent)) == nil)
    }

    @Test func `a point that is not on P-256 is refused`() throws {
        let x = try decoded(SignatureVectors.x)
        var y = try decoded(SignatureVectors.y)
        #expect(VerificationKey(.p256(x: y, y: x)) == nil)
        #expect(VerificationKey(.p256(x: x, y: y.dropLast())) == nil)
        #expect(VerificationKey(.p256(x: x + [0], y: y)) == nil)
        #expect(VerificationKey(.p256(x: x, y: y + [0])) == nil)
        #expect(VerificationKey(.p256(x: [], y: [])) == nil)
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(VerificationKey(.p256(x: zeros, y: zeros)) == nil)
        #expect(VerificationKey(.p256(x: Array(repeating: 0xFF, count: 32), y: y)) == nil)
        y[31] ^= 1
        #expect(VerificationKey(.p256(x: x, y: y)) == nil)
    }

    @Test func `an Ed25519 key of another length is refused`() throws {
        let x = try decoded(SignatureVectors.ed25519)
        #expect(VerificationKey(.ed25519(x.dropLast())) == nil)
        #expect(VerificationKey(.ed25519(x + [0])) == nil)
    }

    @Test func `a secret of 31 bytes is refused`() {
        #expect(VerificationKey(.secret(Array(repeating: 1, count: 32))) != nil)
        #expect(VerificationKey(.secret(Array(repeating: 1, count: 31))) == nil)
    }
}
