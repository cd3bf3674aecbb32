/// The status of a build, a feature flag, a server or another source, for a view that knows none of them (M-39).
///
/// A later card of the same account with the same ``id`` replaces an earlier one; ``CardBoard`` has the result. Texts
/// are lines: they contain no control characters, no line separators and no controls of the writing direction (M-40).
public struct StatusCard: Hashable, Sendable {
    /// A property of the source, for example a branch.
    public struct Detail: Hashable, Sendable {
        /// The name of the property, a line of 1 to ``maxKeyByteCount`` bytes.
        public let key: String
        /// The value, a line of at most ``maxValueByteCount`` bytes.
        public let value: String

        /// The maximum number of bytes of a key.
        public static let maxKeyByteCount = 64
        /// The maximum number of bytes of a value.
        public static let maxValueByteCount = 256

        /// Creates a detail.
        ///
        /// - Throws: `invalidValue` if the key or the value is out of its bounds or not a line.
        public init(_ key: String, _ value: String) throws(WireError) {
            try StatusCard.check(key, .key, 1...Self.maxKeyByteCount)
            try StatusCard.check(value, .text, 0...Self.maxValueByteCount)
            self.key = key
            self.value = value
        }

        fileprivate init(_ field: TLVView) throws(WireError) {
            var (key, value): (String?, String?)
            var reader = field.reader()
            while let field = try reader.next() {
                switch field.tag {
                case .key: try key.fill(.key, field.string(maxByteCount: Self.maxKeyByteCount))
                case .text: try value.fill(.text, field.string(maxByteCount: Self.maxValueByteCount))
                default: try field.skip()
                }
            }
            try self.init(try key.required(.key), try value.required(.text))
        }
    }

    /// The maximum number of bytes of a title.
    public static let maxTitleByteCount = 256
    /// The maximum number of details of a card.
    public static let maxDetailCount = 16
    /// The maximum number of bytes of a URL.
    public static let maxURLByteCount = 1024
    /// The latest time of a card, in milliseconds since 1970: the end of the year 9999.
    public static let maxTime: UInt64 = 253_402_300_799_999

    /// The name of the source among those of its account.
    public let id: CardID
    /// The name of the source for people, a line of 1 to ``maxTitleByteCount`` bytes.
    public let title: String
    /// The status; `unknown` also for one that this version does not know.
    public let status: CardStatus
    /// The details in the order in which they are shown, at most ``maxDetailCount``.
    public let details: [Detail]
    /// The time of the status by the clock of its source, in milliseconds since 1970, at most ``maxTime``; nil for the
    /// time of the message.
    public let time: UInt64?
    /// A page about the status: a URL of http or https without user information, of at most ``maxURLByteCount``
    /// characters of ASCII (M-41).
    public let url: String?

    /// Creates a card.
    ///
    /// - Throws: `invalidValue` if a value is out of its bounds, not a line or not a URL; `tooManyTLVs` for more than
    ///   ``maxDetailCount`` details.
    public init(
        id: CardID, title: String, status: CardStatus, details: [Detail] = [], time: UInt64? = nil, url: String? = nil
    ) throws(WireError) {
        try Self.check(title, .text, 1...Self.maxTitleByteCount)
        guard details.count <= Self.maxDetailCount else { throw .tooManyTLVs(limit: Self.maxDetailCount) }
        if let time { _ = try time.within(0...Self.maxTime, .statusTime) }
        guard url.map({ Self.isURL(Array($0.utf8)) }) ?? true else { throw .invalidValue(.url) }
        (self.id, self.title, self.status, self.details, self.time, self.url) = (id, title, status, details, time, url)
    }

    /// Reads the fields of a content (M-39).
    init(_ content: MessageContent) throws(WireError) {
        var (id, title, status): (CardID?, String?, CardStatus?)
        var (details, time, url): ([Detail], UInt64?, String?) = ([], nil, nil)
        let bytes = content.bytes
        var reader = TLVReader(bytes.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .card: try id.fill(.card, field.name())
            case .text: try title.fill(.text, field.string(maxByteCount: Self.maxTitleByteCount))
            case .cardStatus: try status.fill(.cardStatus, CardStatus(rawValue: field.uint8()) ?? .unknown)  // M-42
            case .detail: try details.append(Detail(field), limit: Self.maxDetailCount)
            case .statusTime: try time.fill(.statusTime, field.uint64())
            case .url: try url.fill(.url, field.string(maxByteCount: Self.maxURLByteCount))
            default: try field.skip()
            }
        }
        try self.init(
            id: try id.required(.card), title: try title.required(.text), status: try status.required(.cardStatus),
            details: details, time: time, url: url)
    }

    /// Appends the fields.
    func encode(into writer: inout TLVWriter) {
        writer.append(.card, name: id)
        writer.append(.text, string: title)
        writer.append(.cardStatus, uint8: status.rawValue)
        for detail in details {
            writer.container(.detail) { writer in
                writer.append(.key, string: detail.key)
                writer.append(.text, string: detail.value)
            }
        }
        if let time { writer.append(.statusTime, uint64: time) }
        if let url { writer.append(.url, string: url) }
    }

    /// Requires a line (M-40, Specs/hostile.md row 107).
    private static func check(_ text: String, _ tag: Tag, _ bounds: ClosedRange<Int>) throws(WireError) {
        let isLine = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: false
            default: true
            }
        }
        guard isLine, bounds.contains(text.utf8.count) else { throw .invalidValue(tag) }
    }

    /// Whether a text is a URL that may be followed (M-41, Specs/hostile.md row 107).
    private static func isURL(_ text: [UInt8]) -> Bool {
        let refused = Array("\"<>\\^`{|}".utf8)
        guard text.count <= maxURLByteCount, text.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !refused.contains($0) }),
            let scheme = ["https://", "http://"].first(where: { text.starts(with: $0.utf8) })
        else { return false }
        let ends = Array("/?#".utf8)
        let authority = text.dropFirst(scheme.utf8.count).prefix { !ends.contains($0) }
        return !authority.isEmpty && !authority.contains(UInt8(ascii: "@"))
    }
}

/// The name of a card, 1 to 128 bytes, for example `build-7` (M-39).
public struct CardID: WireName {
    /// The maximum number of bytes of UTF-8.
    public static let maxByteCount = 128
    /// The text of the name.
    public let text: String

    /// Creates a name; nil if the text violates the rules of ``WireName``.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }
}

extension CardStatus {
    /// The name in the specification, for example `failed`.
    public var name: String {
        switch self {
        case .unknown: "unknown"
        case .ok: "ok"
        case .running: "running"
        case .warning: "warning"
        case .failed: "failed"
        case .removed: "removed"
        }
    }
}
