import Martlet

/// Messages of a part of the log, with the effects that changes have on them (Specs/messages.md §2).
struct CurrentMessages: Sendable {
    /// The messages, without changes, in the order of their offsets.
    private(set) var messages: [RoomMessage] = []
    private var effects: [MessageID: MessageEffects] = [:]

    /// Creates the messages of a part of the log, and applies the changes in it.
    init(_ log: [RoomMessage]) {
        messages = log.filter { !$0.kind.isChange }
        for message in messages { effects[message.id] = MessageEffects() }
        for message in log { apply(message) }
    }

    /// Applies a message of the log, if it is a change of one of the messages.
    mutating func apply(_ message: RoomMessage) {
        guard let body = try? message.body, let change = MessageChange(body, by: message.sender) else { return }
        effects[change.target]?.apply(change, at: message.offset)
    }

    /// Returns the effects of the changes of a message.
    func effects(on message: RoomMessage) -> MessageEffects { effects[message.id] ?? MessageEffects() }

    /// Returns the name of a message in a label.
    func name(of id: MessageID) -> String {
        KnownMessages.name(of: id, offset: messages.first { $0.id == id }?.offset)
    }
}
