package import MartletWire

/// The hash of a resume token, which the server keeps in place of the token: a reader of its memory cannot resume a
/// link (C-37).
package struct TokenDigest: Sendable, Equatable, CustomStringConvertible {
    /// SHA-256 of the token's 32 bytes, as four big-endian words.
    package let words: (UInt64, UInt64, UInt64, UInt64)

    /// A digest from its four words.
    package init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) {
        words = (a, b, c, d)
    }

    /// Compares in constant time, so that the duration reveals nothing about the token (C-37).
    package static func == (left: TokenDigest, right: TokenDigest) -> Bool {
        let difference =
            (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1)
            | (left.words.2 ^ right.words.2) | (left.words.3 ^ right.words.3)
        return difference == 0
    }

    /// A constant, which reveals nothing about the token.
    package var description: String { "TokenDigest(redacted)" }
}

/// A fresh resume token: the client gets the token, the server keeps the digest.
package struct TokenGrant: Sendable {
    /// 256 random bits.
    package var token: ResumeToken
    /// The token's SHA-256.
    package var digest: TokenDigest

    /// A token and its digest.
    package init(token: ResumeToken, digest: TokenDigest) {
        self.token = token
        self.digest = digest
    }
}
