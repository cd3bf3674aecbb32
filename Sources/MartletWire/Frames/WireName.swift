/// A name that crosses the wire: non-empty UTF-8 of bounded length without control characters (W-31).
///
/// Names are equal when their bytes are: two spellings that merely look alike are two names, on every machine and with
/// every version of Unicode.
public protocol WireName: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes of UTF-8 in a name.
    static var maxByteCount: Int { get }

    /// The name.
    var text: String { get }

    /// Nil when `text` is empty, longer than ``maxByteCount`` bytes, or holds a control character (U+0000…U+001F,
    /// U+007F…U+009F).
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
        return text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }

    static func accepts(_ bytes: RawSpan) -> Bool {
        (1...maxByteCount).contains(bytes.byteCount) && bytes.isValidUTF8 && !bytes.holdsControlCharacter
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

extension RawSpan {
    /// Whether U+0000…U+001F or U+007F…U+009F is among these bytes of well-formed UTF-8.
    fileprivate var holdsControlCharacter: Bool {
        var previous: UInt8 = 0
        for offset in 0..<byteCount {
            let byte = loadUInt8(at: offset)
            if byte < 0x20 || byte == 0x7F || (previous == 0xC2 && byte < 0xA0) { return true }
            previous = byte
        }
        return false
    }
}
