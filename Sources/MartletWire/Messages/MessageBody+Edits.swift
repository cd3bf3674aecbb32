extension MessageBody {
    /// The body with the text of an edit (M-4).
    package func edited(_ text: String) -> MessageBody {
        switch self {
        case .text: return .text(text)
        case .reply(let target, _): return .reply(to: target, text: text)
        case .attachment(var attachment):
            attachment.caption = text
            return .attachment(attachment)
        case .edit, .delete, .reaction, .system, .command, .other: return self
        }
    }

    /// Whether an edit replaces the text (M-4).
    package var isEditable: Bool {
        switch self {
        case .text, .reply, .attachment: true
        case .edit, .delete, .reaction, .system, .command, .other: false
        }
    }
}
