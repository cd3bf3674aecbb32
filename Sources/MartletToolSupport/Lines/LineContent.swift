package import MartletWire

/// The conversion of a line of text to a message and back, without a change of any byte.
///
/// A non-empty line of UTF-8 with a newline is sent as text without the newline, like a line of a chat. Any other line
/// (an empty one, other bytes, a piece of a long line, a last line without a newline) is sent as bytes.
package enum LineContent: Equatable, Sendable {
    /// The text of a line, without its newline.
    case text(String)
    /// The bytes of a line.
    case bytes([UInt8])

    /// The maximum number of bytes of a message. It is below the minimum limit of a message.
    package static let maxPieceByteCount = 12 << 10

    /// The kind of a message that contains the bytes of a line.
    package static let bytesKind = ContentKind(rawValue: 0xF0D0)

    /// Creates the content of a piece of a ``LineSplitter``.
    package init(piece: [UInt8]) {
        if piece.count > 1, piece.last == UInt8(ascii: "\n"),
            let text = String(validating: piece.dropLast(), as: UTF8.self)
        {
            self = .text(text)
        } else {
            self = .bytes(piece)
        }
    }

    /// The kind of the message.
    package var kind: ContentKind {
        switch self {
        case .text: .text
        case .bytes: Self.bytesKind
        }
    }

    /// The content of the message.
    package var encoded: [UInt8] {
        switch self {
        case .text(let text): return Message.textContent(text)
        case .bytes(let bytes):
            var writer = TLVWriter()
            writer.append(.data, bytes: bytes)
            return writer.bytes
        }
    }

    /// Creates the content of a message; nil if the message is not a line.
    package init?(kind: ContentKind, content: [UInt8]) {
        let wanted: Tag = kind == .text ? .text : .data
        guard kind == .text || kind == Self.bytesKind, let value = Self.field(wanted, of: content) else { return nil }
        if kind == Self.bytesKind {
            self = .bytes(value)
        } else if let text = String(validating: value, as: UTF8.self) {
            self = .text(text)
        } else {
            return nil
        }
    }

    /// The bytes of the line.
    package var output: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8) + [UInt8(ascii: "\n")]
        case .bytes(let bytes): bytes
        }
    }

    private static func field(_ tag: Tag, of content: [UInt8]) -> [UInt8]? {
        var reader = TLVReader(content.rawBytes)
        while let field = try? reader.next() {
            if field.tag == tag { return field.bytes() }
        }
        return nil
    }
}
