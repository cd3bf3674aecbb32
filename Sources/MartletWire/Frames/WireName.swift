/// A name that crosses the wire: non-empty UTF-8 of bounded length whose characters can be seen and told apart from
/// blanks (W-31).
///
/// Names are equal when their bytes are: two spellings that merely look alike are two names, on every machine and with
/// every version of Unicode.
public protocol WireName: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes of UTF-8 in a name.
    static var maxByteCount: Int { get }

    /// The name.
    var text: String { get }

    /// Nil when `text` is empty, longer than ``maxByteCount`` bytes, begins or ends with a blank, has two of them side
    /// by side, or holds a character that W-31 refuses: control and format characters, bidirectional controls,
    /// zero-width and other invisible ones, blanks but U+0020, line separators, private use, and noncharacters.
    init?(_ text: String)
}

extension WireName {
    /// The name itself.
    public var description: String { text }

    /// Compares bytes.
    public static func == (left: Self, right: Self) -> Bool {
        left.text.hasSameUTF8(as: right.text)
    }

    /// Equal bytes are equal text, so the text's hash serves.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }

    static func accepts(_ text: String) -> Bool {
        guard (1...maxByteCount).contains(text.utf8.count) else { return false }
        var rules = NameRules()
        return text.unicodeScalars.allSatisfy { rules.take($0.value) } && rules.isComplete
    }

    static func accepts(_ bytes: RawSpan) -> Bool {
        (1...maxByteCount).contains(bytes.byteCount) && bytes.isValidUTF8 && bytes.isName
    }
}

/// Who signs in: an account at a relay, 1…128 bytes.
public struct AccountName: WireName {
    /// The most bytes of UTF-8 in a name.
    public static let maxByteCount = 128
    /// The name.
    public let text: String

    /// Nil when the text breaks ``WireName``'s rules.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }

    /// A name that has been found to be one.
    init(validated text: String) {
        self.text = text
    }
}

/// What a session is opened on: a room at a relay, 1…128 bytes.
public struct RoomName: WireName {
    /// The most bytes of UTF-8 in a name.
    public static let maxByteCount = 128
    /// The name.
    public let text: String

    /// Nil when the text breaks ``WireName``'s rules.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }
}

/// What a request asks for, 1…64 bytes.
public struct MethodName: WireName {
    /// The most bytes of UTF-8 in a name.
    public static let maxByteCount = 64
    /// The name.
    public let text: String

    /// Nil when the text breaks ``WireName``'s rules.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }
}
