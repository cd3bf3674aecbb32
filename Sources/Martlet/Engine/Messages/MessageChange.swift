import MartletLink
public import MartletWire

/// What a message changes of another message: an edit, a deletion or a reaction that counts (M-9).
public struct MessageChange: Equatable, Sendable {
    /// The effect on the other message.
    public enum Effect: Equatable, Sendable {
        /// The message has this text instead of its own.
        case edit(text: String)
        /// The message is deleted.
        case deletion
        /// The author has this reaction to the message, or has it no longer.
        case reaction(String, isRemoved: Bool)
    }

    /// The message that is changed.
    public let target: MessageID
    /// The account that changes it.
    public let author: AccountName
    /// The effect on the message.
    public let effect: Effect

    /// Creates the change of a message; nil if the message changes no other, or does not count.
    ///
    /// - Parameters:
    ///   - body: The body of the message.
    ///   - author: The account that sent it.
    ///   - isModerator: Whether the account may delete messages of others, as the application decides.
    public init?(_ body: MessageBody, by author: AccountName, isModerator: Bool = false) {
        switch body {
        case .edit(let target, let text):
            guard target.id.sender == author else { return nil }
            self.target = target.id
            effect = .edit(text: text)
        case .delete(let target):
            guard target.id.sender == author || isModerator else { return nil }
            self.target = target.id
            effect = .deletion
        case .reaction(let reaction, let target, let isRemoved):
            self.target = target.id
            effect = .reaction(reaction, isRemoved: isRemoved)
        case .text, .reply, .system, .attachment, .command, .card, .other: return nil
        }
        self.author = author
    }
}
