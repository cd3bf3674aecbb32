import Martlet
import MartletObservation
import MartletTimeline
import Observation

/// A conversation with the draft of the user, and the words that describe its entries.
@MainActor @Observable
final class RoomModel {
    let messages: ConversationModel
    /// What the user has entered. It remains when the user leaves the room.
    var draft = ""

    private let account: AccountName

    init(_ messages: ConversationModel, account: AccountName) {
        self.messages = messages
        self.account = account
    }

    var canSend: Bool { draft.contains { !$0.isWhitespace } }

    /// Sends the draft. It is restored if the outbox cannot store it, unless the user has begun the next one.
    func send() async {
        guard canSend else { return }
        let text = draft
        draft = ""
        if await messages.send(text) == nil, draft.isEmpty { draft = text }
    }

    /// Reports the typing to the other members, after each change of the draft.
    func draftChanged() async {
        if canSend { await messages.noteTyping() } else { await messages.endTyping() }
    }

    /// Who is typing; nil if nobody is.
    var typing: String? {
        let names = messages.typing.map(\.text)
        guard let last = names.last else { return nil }
        let all = names.count < 3 ? names.joined(separator: " and ") : "\(names.count - 1) others and \(last)"
        return all + (names.count == 1 ? " is typing…" : " are typing…")
    }

    /// How an entry is shown.
    struct Appearance: Equatable {
        var sender: String?
        var text: String
        /// The state of the message.
        var note: String?
        var isOwn = false
        var canRetry = false

        /// The words of a screen reader.
        var accessibilityLabel: String { [sender, text, note].compactMap { $0 }.joined(separator: ", ") }
    }

    func appearance(of entry: TimelineEntry) -> Appearance {
        var shown = Appearance(sender: entry.sender?.text, text: Self.text(of: entry.content))
        shown.isOwn = entry.sender == account
        if case .failed = entry.state { shown.canRetry = true }
        let notes = [entry.isEdited ? "Edited" : nil, shown.isOwn ? note(of: entry) : nil].compactMap { $0 }
        shown.note = notes.isEmpty ? nil : notes.joined(separator: ", ")
        return shown
    }

    static func text(of content: TimelineEntry.Content) -> String {
        switch content {
        case .message(let body): body.text ?? "A message that this application cannot show"
        case .damaged: "A message that cannot be shown"
        case .deleted: "Deleted message"
        case .gap: "Messages are missing here"
        case .logReplaced: "The history was replaced"
        }
    }

    private func note(of entry: TimelineEntry) -> String {
        switch entry.state {
        case .pending: return "Waiting"
        case .failed(let failure): return "Not sent: \(failure.key)"
        case .accepted:
            guard let offset = entry.offset else { return "Sent" }
            return offset <= messages.readOffset ? "Read" : offset <= messages.deliveredOffset ? "Delivered" : "Sent"
        }
    }
}
