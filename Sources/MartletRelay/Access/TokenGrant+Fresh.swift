import CMartletCrypto
import MartletLink
import MartletWire

extension TokenGrant {
    /// A token of 256 random bits, and its digest (W-44, C-37).
    static func fresh(using random: some RandomNumberGenerator = SystemRandomNumberGenerator()) -> TokenGrant {
        var random = random
        let token = ResumeToken(random.next(), random.next(), random.next(), random.next())
        return TokenGrant(token: token, digest: TokenDigest(of: token))
    }
}

extension TokenDigest {
    /// The SHA-256 of the token's bytes.
    init(of token: ResumeToken) {
        let bytes = token.bytes
        var digest = [UInt8](repeating: 0, count: martlet_sha256_byte_count)
        unsafe martlet_sha256(bytes, bytes.count, &digest)
        let words = digest.rawBytes
        self.init(words.loadUInt64(at: 0), words.loadUInt64(at: 8), words.loadUInt64(at: 16), words.loadUInt64(at: 24))
    }
}
