/// The secret that resumes a link once on a new connection: 256 random bits (W-44).
///
/// Descriptions, dumps and interpolations do not contain the bits. A comparison of two tokens takes constant time.
public struct ResumeToken: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The number of bytes of a token.
    package static let byteCount = 32

    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Creates a token from four random words.
    package init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
        words = (first, second, third, fourth)
    }

    /// Creates a token from exactly ``byteCount`` bytes; nil for any other number of bytes.
    package init?(_ bytes: RawSpan) {
        guard bytes.byteCount == Self.byteCount else { return nil }
        self.init(bytes.loadUInt64(at: 0), bytes.loadUInt64(at: 8), bytes.loadUInt64(at: 16), bytes.loadUInt64(at: 24))
    }

    /// Creates a token from exactly ``byteCount`` bytes; nil for any other number of bytes.
    package init?(_ bytes: [UInt8]) {
        self.init(bytes.rawBytes)
    }

    /// The secret, `byteCount` bytes.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        bytes.append(bigEndian: words.0)
        bytes.append(bigEndian: words.1)
        bytes.append(bigEndian: words.2)
        bytes.append(bigEndian: words.3)
        return bytes
    }

    /// Returns whether both tokens are equal. The comparison reads all bits.
    public static func == (left: ResumeToken, right: ResumeToken) -> Bool {
        let difference =
            (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1) | (left.words.2 ^ right.words.2)
            | (left.words.3 ^ right.words.3)
        return difference == 0
    }

    /// The text `ResumeToken(redacted)`.
    public var description: String { "ResumeToken(redacted)" }
    /// The text `ResumeToken(redacted)`.
    public var debugDescription: String { description }
}

extension TLVView {
    func resumeToken() throws(WireError) -> ResumeToken {
        guard let token = ResumeToken(value) else { throw .invalidValue(tag) }
        return token
    }
}
