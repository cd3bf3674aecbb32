import Martlet
import MartletDecode
import MartletToolSupport
import MartletWire

/// The parts of a message in a line: a label in words of this program, and a text of the sender.
///
/// | message | label | text |
/// |---|---|---|
/// | text | none | the text |
/// | reply, edit | the message concerned | the text |
/// | deletion, reaction | the message concerned | empty |
/// | event, attachment | its name | the text beside it |
/// | card | its status and name | its title |
/// | erased | that it is deleted | empty |
/// | any other message | the size | empty |
struct MessageParts: Equatable, Sendable {
    /// The label, which is one line; nil for a text.
    var label: String?
    /// The text of the sender, which is not escaped.
    var text: String

    init(label: String? = nil, text: String = "") {
        self.label = label
        self.text = text
    }

    /// Creates the parts of a content.
    ///
    /// - Parameters:
    ///   - content: The content of the message.
    ///   - body: The current body of the message; nil if the content is damaged.
    ///   - name: Returns the name of a message that the body refers to.
    init(_ content: MessageContent, _ body: MessageBody?, name: (MessageID) -> String) {
        switch body {
        case .text(let text): self.init(text: text)
        case .reply(let target, let text): self.init(label: "reply to \(name(target.id))", text: text)
        case .edit(let target, let text): self.init(label: "edit of \(name(target.id))", text: text)
        case .delete(let target): self.init(label: "deletion of \(name(target.id))")
        case .reaction(let reaction, let target, let isRemoved):
            let quoted = EscapedText.quoted(reaction)
            let words = isRemoved ? "removal of reaction \(quoted) to" : "reaction \(quoted) to"
            self.init(label: "\(words) \(name(target.id))")
        case .system(let event, let text): self.init(label: "event \(EscapedText.label(event.text))", text: text ?? "")
        case .attachment(let attachment):
            let name = attachment.name.map { " \(EscapedText.quoted($0))" } ?? ""
            let size = Quantity.text(byteCount: Int(clamping: attachment.byteCount))
            self.init(label: "attachment\(name), \(size)", text: attachment.caption ?? "")
        case .card(let card):
            self.init(label: "card \(EscapedText.quoted(card.id.text)), \(card.status.name)", text: card.title)
        case .command: self.init(label: "command, \(Quantity.text(byteCount: content.byteCount))")
        case .other(.erased): self.init(label: "deleted")
        case .other, nil:
            if let text = ChatSession.text(of: LineContent(kind: content.kind, content: content.bytes)) {
                self.init(text: text)
            } else {
                self.init(label: "\(Quantity.text(byteCount: content.byteCount)) without text")
            }
        }
    }

    /// The parts as a line, which can be parsed back: the label in square brackets, and the text. A text without a
    /// label that begins with a bracket follows a backslash.
    var line: String {
        let line = EscapedText.line(text)
        guard let label else { return line.hasPrefix("[") ? "\\\(line)" : line }
        return line.isEmpty ? "[\(label)]" : "[\(label)] \(line)"
    }

    /// The parts as text for a terminal, with the newlines of the text.
    var shown: String {
        guard let label else { return text.hasPrefix("[") ? "\\\(text)" : text }
        return text.isEmpty ? "[\(label)]" : "[\(label)] \(text)"
    }
}

extension ContentKind {
    /// The name in every output of this program.
    var typeName: String {
        if self == LineContent.bytesKind { return "bytes" }
        return registeredName ?? (isApplicationDefined ? "application" : "unknown")
    }
}
