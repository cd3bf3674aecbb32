import MartletWire

/// A pattern of room names.
///
/// `*` matches any bytes, also none. `{account}` matches the name of the account that asks. Everything else matches
/// itself, byte by byte.
struct RoomPattern: Hashable, Sendable {
    /// The maximum number of bytes of a pattern.
    static let maxByteCount = 512
    /// The maximum number of `*` in a pattern, which bounds the time of a comparison.
    static let maxWildcardCount = 8

    private enum Part: Hashable {
        case literal([UInt8])
        case account
    }

    /// The parts between the wildcards.
    private let segments: [[Part]]

    /// Whether the pattern matches one name only, and the same one for every account.
    var isName: Bool { segments.count == 1 && !segments[0].contains(.account) }

    /// Creates a pattern; nil if it is empty or exceeds a bound.
    init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard (1...Self.maxByteCount).contains(bytes.count) else { return nil }
        let segments = bytes.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
        guard segments.count <= Self.maxWildcardCount + 1 else { return nil }
        self.segments = segments.map { Self.parts(of: $0) }
    }

    private static let placeholder = Array("{account}".utf8)

    private static func parts(of segment: ArraySlice<UInt8>) -> [Part] {
        var parts: [Part] = []
        var literal: [UInt8] = []
        var rest = segment
        while let byte = rest.first {
            guard rest.starts(with: placeholder) else {
                literal.append(byte)
                rest.removeFirst()
                continue
            }
            if !literal.isEmpty { parts.append(.literal(literal)) }
            literal = []
            parts.append(.account)
            rest.removeFirst(placeholder.count)
        }
        if !literal.isEmpty { parts.append(.literal(literal)) }
        return parts
    }

    /// Whether a room matches for an account.
    func matches(_ room: RoomName, for account: AccountName) -> Bool {
        let name = Array(room.text.utf8)
        let texts = segments.map { parts in
            parts.flatMap { part in
                switch part {
                case .literal(let bytes): bytes
                case .account: Array(account.text.utf8)
                }
            }
        }
        guard let first = texts.first, let last = texts.last, name.starts(with: first) else { return false }
        guard texts.count > 1 else { return name.count == first.count }
        var at = first.count
        // The earliest match of each middle segment leaves the longest rest for the later segments.
        for middle in texts[1..<(texts.count - 1)] {
            guard let found = Self.find(middle, in: name, from: at) else { return false }
            at = found + middle.count
        }
        return name.count - at >= last.count && name.suffix(last.count).elementsEqual(last)
    }

    private static func find(_ part: [UInt8], in name: [UInt8], from start: Int) -> Int? {
        var at = start
        while at + part.count <= name.count {
            if name[at..<at + part.count].elementsEqual(part) { return at }
            at += 1
        }
        return nil
    }
}
