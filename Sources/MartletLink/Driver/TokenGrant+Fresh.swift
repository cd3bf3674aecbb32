import MartletAuthentication
package import MartletWire

extension TokenGrant {
    /// A token of 256 random bits, and its digest (W-44, C-37).
    package static func fresh(using random: some RandomNumberGenerator = SystemRandomNumberGenerator()) -> TokenGrant {
        var random = random
        let token = ResumeToken(random.next(), random.next(), random.next(), random.next())
        return TokenGrant(token: token, digest: TokenDigest(of: token))
    }
}

extension TokenDigest {
    /// The SHA-256 of the token's bytes.
    package init(of token: ResumeToken) {
        let digest = SCRAMHash.digest(token.bytes)
        let words = digest.rawBytes
        self.init(words.loadUInt64(at: 0), words.loadUInt64(at: 8), words.loadUInt64(at: 16), words.loadUInt64(at: 24))
    }
}
