public import MartletWire

extension MessageEffects {
    /// Returns the current body of the message: with the text of the latest edit, if an edit replaces its text (M-4);
    /// nil if the message is deleted (M-5).
    public func body(of original: MessageBody) -> MessageBody? {
        if isDeleted { return nil }
        return text.map { original.edited($0) } ?? original
    }
}

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
