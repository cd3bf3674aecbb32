import Testing

@testable import MartletAuthentication

@Suite struct SCRAMHashTests {
    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// RFC 4231 §4.2 to 4.8, without 4.6, whose code is truncated.
    static let codes: [(key: [UInt8], data: [UInt8], code: String)] = [
        (
            Array(repeating: 0x0B, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            Array(repeating: 0xAA, count: 20), Array(repeating: 0xDD, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            Array(0x01...0x19), Array(repeating: 0xCD, count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            Array(repeating: 0xAA, count: 131),
            Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            Array(repeating: 0xAA, count: 131),
            Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test(arguments: codes.indices)
    func `HMAC-SHA-256 gives the codes of RFC 4231`(_ index: Int) {
        let vector = Self.codes[index]
        #expect(Self.hexadecimal(SCRAMHash.code(key: vector.key, vector.data)) == vector.code)
    }

    @Test func `an empty key and an empty message have a code`() {
        let code = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
        #expect(Self.hexadecimal(SCRAMHash.code(key: [], [])) == code)
    }

    // RFC 7914 §11
    @Test(
        arguments: [
            (
                "passwd", "salt", 1,
                "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
                    + "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"
            ),
            (
                "Password", "NaCl", 80000,
                "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
                    + "a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d"
            ),
        ])
    func `PBKDF2-HMAC-SHA-256 gives the keys of RFC 7914`(
        _ password: String, _ salt: String, _ iterations: Int, _ expected: String
    ) {
        let key = SCRAMHash.key(
            password: Array(password.utf8), salt: Array(salt.utf8), iterations: iterations, byteCount: 64)
        #expect(Self.hexadecimal(key) == expected)
    }

    @Test func `sequences are equal only with the same length and bytes`() {
        let bytes = [UInt8](0..<32)
        #expect(SCRAMHash.areEqual(bytes, bytes))
        #expect(SCRAMHash.areEqual([], []))
        #expect(!SCRAMHash.areEqual(bytes, Array(bytes.dropLast())))
        for bit in 0..<256 {
            var other = bytes
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!SCRAMHash.areEqual(bytes, other))
        }
    }
}
