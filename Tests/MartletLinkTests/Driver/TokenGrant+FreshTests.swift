import MartletWire
import Testing

@testable import MartletLink

@Suite("Fresh resume tokens")
struct TokenGrantFreshTests {
    // W-44
    @Test("digest equals SHA-256 of FIPS 180-4")
    func vector() {
        // 32 zero bytes, and the bytes 0 to 31.
        let zeros = TokenDigest(of: ResumeToken(0, 0, 0, 0))
        #expect(
            zeros.words == (0x6668_7AAD_F862_BD77, 0x6C8F_C18B_8E9F_8E20, 0x0897_1485_6EE2_33B3, 0x902A_591D_0D5F_2925))
        let ascending = TokenDigest(of: ResumeToken([UInt8](0..<32))!)
        #expect(
            ascending.words
                == (0x630D_CD29_66C4_3366, 0x9112_5448_BBB2_5B4F, 0xF412_A49C_732D_B2C8, 0xABC1_B858_1BD7_10DD))
    }

    // C-37
    @Test("fresh tokens differ and carry their own digests")
    func fresh() {
        let grants = (0..<100).map { _ in TokenGrant.fresh() }
        #expect(Set(grants.map { $0.token.bytes }).count == 100)
        for grant in grants { #expect(grant.digest == TokenDigest(of: grant.token)) }
    }
}
