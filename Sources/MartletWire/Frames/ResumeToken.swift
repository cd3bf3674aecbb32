/// The one-time secret that lets a device take up its link on a new connection: 256 random bits (W-44).
///
/// It never shows in descriptions, dumps or interpolations, and comparing two takes the same time wherever they differ.
public struct ResumeToken: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Bytes in a token.
    public static let byteCount = 32

    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// A token made of four random words.
    public init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
        words = (first, second, third, fourth)
    }

    /// Nil unless there are exactly ``byteCount`` bytes.
    public init?(_ bytes: RawSpan) {
        guard bytes.byteCount == Self.byteCount else { return nil }
        self.init(bytes.loadUInt64(at: 0), bytes.loadUInt64(at: 8), bytes.loadUInt64(at: 16), bytes.loadUInt64(at: 24))
    }

    /// Nil unless there are exactly ``byteCount`` bytes.
    public init?(_ bytes: [UInt8]) {
        self.init(bytes.rawBytes)
    }

    /// The secret itself, ``byteCount`` bytes.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        bytes.append(bigEndian: words.0)
        bytes.append(bigEndian: words.1)
        bytes.append(bigEndian: words.2)
        bytes.append(bigEndian: words.3)
        return bytes
    }

    /// Compares all bits, wherever the first difference is.
    public static func == (left: ResumeToken, right: ResumeToken) -> Bool {
        let difference =
            (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1) | (left.words.2 ^ right.words.2)
            | (left.words.3 ^ right.words.3)
        return difference == 0
    }

    /// Says that there is a token, not which.
    public var description: String { "ResumeToken(redacted)" }
    /// Says that there is a token, not which.
    public var debugDescription: String { description }
    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TLVView {
    func resumeToken() throws(WireError) -> ResumeToken {
        guard let token = ResumeToken(value) else { throw .invalidValue(tag) }
        return token
    }
}
