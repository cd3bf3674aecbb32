package import MartletWire

/// A line of text as a message, and back, byte for byte.
///
/// A line that is UTF-8, not empty and ends in a newline travels as text, without the newline, as a chat would send it.
/// Everything else (an empty line, other bytes, a piece of a very long line, an end without a newline) travels as bytes
/// exactly as they are to be written.
package enum LineContent: Equatable, Sendable {
    /// The text of a line.
    case text(String)
    /// Bytes to be written as they are.
    case bytes([UInt8])

    /// The longest piece of a line that is sent as one message, in bytes; a message's least limit lies above it.
    package static let maxPieceByteCount = 12 << 10

    /// The kind of a message that holds bytes to be written as they are.
    package static let bytesKind = ContentKind(rawValue: 0xF0D0)

    /// The content for a piece that a ``LineSplitter`` made.
    package init(piece: [UInt8]) {
        if piece.count > 1, piece.last == UInt8(ascii: "\n"),
            let text = String(validating: piece.dropLast(), as: UTF8.self)
        {
            self = .text(text)
        } else {
            self = .bytes(piece)
        }
    }

    /// The message's kind.
    package var kind: ContentKind {
        switch self {
        case .text: .text
        case .bytes: Self.bytesKind
        }
    }

    /// The message's content.
    package var encoded: [UInt8] {
        switch self {
        case .text(let text): return Message.textContent(text)
        case .bytes(let bytes):
            var writer = TLVWriter()
            writer.append(.data, bytes: bytes)
            return writer.bytes
        }
    }

    /// The content of a message; `nil` for a message that is not a line.
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

    /// The bytes to be written for it.
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
