/// The content of a message: a kind, and TLVs that satisfy its `ContentRules`.
///
/// A text is stored as a string until its TLV is encoded.
public struct MessageContent: Hashable, Sendable {
    private enum Form: Sendable {
        case text(String)
        case fields(ContentKind, [UInt8])
    }

    /// A content that consists of one text TLV is always stored as a text.
    private let form: Form

    /// Creates a text.
    ///
    /// - Precondition: The text is not empty.
    public init(text: String) {
        precondition(!text.isEmpty, "a text message has a text")
        var text = text
        text.makeContiguousUTF8()
        form = .text(text)
    }

    /// Creates a content from TLVs after verification.
    ///
    /// - Throws: The errors of `ContentRules.check(_:of:)`.
    public init(kind: ContentKind, bytes: [UInt8]) throws(WireError) {
        try ContentRules.check(bytes.rawBytes, of: kind)
        form = Self.text(kind, bytes.rawBytes).map { .text($0) } ?? .fields(kind, bytes)
    }

    /// Creates a copy of a view's content.
    init(_ view: borrowing MessageView) {
        let (kind, content) = (view.kind, view.content)
        form = Self.text(kind, content).map { .text($0) } ?? .fields(kind, [UInt8](copying: content))
    }

    /// Creates a text from verified UTF-8, which is not empty.
    init(validated text: RawSpan) {
        form = .text(String(validated: text))
    }

    /// The layout of a client's message with this content and no time to live.
    var layout: BodyLayout {
        guard case .text(let text) = form else { return .unknown }
        return text.withUTF8Bytes { BodyLayout(of: $0, isDelivery: false) }
    }

    /// Returns the text of a valid content that consists of one text TLV; nil for any other content.
    private static func text(_ kind: ContentKind, _ content: RawSpan) -> String? {
        let head = TLVLimits.headByteCount
        guard kind == .text, content.loadUInt16(at: 0) == Tag.text.rawValue,
            content.loadUInt32(at: 2) == content.byteCount - head
        else { return nil }
        return String(validated: content.extracting(head..<content.byteCount))
    }

    /// The kind of the content.
    public var kind: ContentKind {
        switch form {
        case .text: .text
        case .fields(let kind, _): kind
        }
    }

    /// Whether the relay has erased the message (M-37). An erased change keeps its kind, and has no effect.
    public var isErased: Bool { kind == .erased || kind.isChange && byteCount == 0 }

    /// The text; nil if the content is of another kind.
    public var text: String? {
        switch form {
        case .text(let text): return text
        case .fields(let kind, let bytes):
            guard kind == .text, let place = try? ContentRules.textOffset(in: bytes.rawBytes) else { return nil }
            return String(validated: bytes.rawBytes.value(at: place))
        }
    }

    /// The number of bytes of the TLVs.
    public var byteCount: Int {
        switch form {
        case .text(let text): TLVLimits.headByteCount + text.utf8.count
        case .fields(_, let bytes): bytes.count
        }
    }

    /// The TLVs.
    public var bytes: [UInt8] {
        switch form {
        case .text(let text):
            var writer = TLVWriter(reserving: byteCount)
            writer.append(.text, string: text)
            return writer.bytes
        case .fields(_, let bytes): return bytes
        }
    }

    /// Appends the `content` field of a message.
    @inline(__always)
    func encode(into writer: inout TLVWriter) {
        switch form {
        case .text(let text):
            writer.appendHead(.content, followedBy: TLVLimits.headByteCount + text.utf8.count)
            writer.append(.text, string: text)
        case .fields(_, let bytes): writer.append(.content, bytes: bytes)
        }
    }

    /// Hashes the kind and the text or bytes.
    public func hash(into hasher: inout Hasher) {
        switch form {
        case .text(let text): hasher.combine(text)
        case .fields(let kind, let bytes):
            hasher.combine(kind)
            hasher.combine(bytes)
        }
    }

    /// Returns whether kinds and bytes are equal. The operator of `String` would compare canonical equivalence.
    public static func == (left: MessageContent, right: MessageContent) -> Bool {
        switch (left.form, right.form) {
        case (.text(let left), .text(let right)): left.hasSameUTF8(as: right)
        case (.fields(let leftKind, let left), .fields(let rightKind, let right)):
            leftKind == rightKind && left == right
        default: false
        }
    }
}

extension ContentKind {
    /// Whether a message of the kind changes another message. A damaged change is ignored (M-1).
    public var isChange: Bool { self == .edit || self == .delete || self == .reaction }
}
