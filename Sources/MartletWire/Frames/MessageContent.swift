/// What a message says: a kind, and TLVs that keep ``ContentRules`` of that kind.
///
/// A text stays the string that it is until its one TLV is written.
public struct MessageContent: Equatable, Sendable {
    private enum Form: Sendable {
        case text(String)
        case fields(ContentKind, [UInt8])
    }

    /// A content that is a text's one TLV is always a text.
    private let form: Form

    /// A text.
    ///
    /// - Precondition: the text is not empty.
    public init(text: String) {
        precondition(!text.isEmpty, "a text message has a text")
        var text = text
        text.makeContiguousUTF8()
        form = .text(text)
    }

    /// Checks TLVs and takes them.
    ///
    /// - Throws: what ``ContentRules/check(_:of:)`` throws.
    public init(kind: ContentKind, bytes: [UInt8]) throws(WireError) {
        try ContentRules.check(bytes.rawBytes, of: kind)
        form = Self.text(kind, bytes.rawBytes).map { .text($0) } ?? .fields(kind, bytes)
    }

    /// A copy of what a view shows.
    init(_ view: borrowing MessageView) {
        let (kind, content) = (view.kind, view.content)
        form = Self.text(kind, content).map { .text($0) } ?? .fields(kind, [UInt8](copying: content))
    }

    /// A text that is well-formed and not empty.
    init(validated text: RawSpan) {
        form = .text(String(validated: text))
    }

    /// The layout of a client's message that has this content and nothing else.
    var layout: BodyLayout {
        guard case .text(let text) = form else { return .unknown }
        return text.withUTF8Bytes { BodyLayout(of: $0, isDelivery: false) }
    }

    /// The text of a content that keeps the rules and is nothing but a text.
    private static func text(_ kind: ContentKind, _ content: RawSpan) -> String? {
        let head = TLVLimits.headByteCount
        guard kind == .text, content.loadUInt16(at: 0) == Tag.text.rawValue,
            content.loadUInt32(at: 2) == content.byteCount - head
        else { return nil }
        return String(validated: content.extracting(head..<content.byteCount))
    }

    /// What it is.
    public var kind: ContentKind {
        switch form {
        case .text: .text
        case .fields(let kind, _): kind
        }
    }

    /// The text, when the kind is text.
    public var text: String? {
        switch form {
        case .text(let text): return text
        case .fields(let kind, let bytes):
            guard kind == .text, let place = try? ContentRules.textPlace(in: bytes.rawBytes) else { return nil }
            return String(validated: bytes.rawBytes.value(at: place))
        }
    }

    /// How many bytes its TLVs take.
    public var byteCount: Int {
        switch form {
        case .text(let text): TLVLimits.headByteCount + text.utf8.count
        case .fields(_, let bytes): bytes.count
        }
    }

    /// Its TLVs.
    public var bytes: [UInt8] {
        switch form {
        case .text(let text):
            var writer = TLVWriter(reserving: byteCount)
            writer.append(.text, string: text)
            return writer.bytes
        case .fields(_, let bytes): return bytes
        }
    }

    /// Appends it as the `content` of a message.
    @inline(__always)
    func encode(into writer: inout TLVWriter) {
        switch form {
        case .text(let text):
            writer.appendHead(.content, followedBy: TLVLimits.headByteCount + text.utf8.count)
            writer.append(.text, string: text)
        case .fields(_, let bytes): writer.append(.content, bytes: bytes)
        }
    }

    /// Compares kinds and bytes; strings would be compared by what they look like.
    public static func == (left: MessageContent, right: MessageContent) -> Bool {
        switch (left.form, right.form) {
        case (.text(let left), .text(let right)): left.hasSameUTF8(as: right)
        case (.fields(let leftKind, let left), .fields(let rightKind, let right)):
            leftKind == rightKind && left == right
        default: false
        }
    }
}
