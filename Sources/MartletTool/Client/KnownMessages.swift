import Martlet
import MartletLink
import MartletToolSupport
import MartletTransport

/// The latest messages of a chat, to which changes and replies refer.
final class KnownMessages: Sendable {
    private struct Known: Sendable {
        var offset: UInt64?
        var isEditable: Bool
        var excerpt: String
        /// The edits and the deletion of the message. Reactions are not kept.
        var effects = MessageEffects()
    }

    private struct Table: Sendable {
        var messages: [MessageID: Known] = [:]
        var order: [MessageID] = []
    }

    /// The maximum number of messages. Older ones are removed.
    static let maxCount = ChatModel.maxEntryCount
    /// The maximum number of characters of a text in the name of its message.
    static let maxExcerptLength = 30

    private let table = Guarded(Table())

    /// Adds a message, or the offset of a message that was added before.
    func add(_ id: MessageID, offset: UInt64?, _ body: MessageBody?) {
        table.withLock { table in
            if let offset, table.messages[id] != nil {
                table.messages[id]?.offset = offset
                return
            }
            table.messages[id] = Known(
                offset: offset, isEditable: body?.isEditable ?? false, excerpt: Self.excerpt(of: body))
            table.order.append(id)
            if table.order.count > Self.maxCount { table.messages[table.order.removeFirst()] = nil }
        }
    }

    /// Applies a change, and returns whether it has an effect.
    func apply(_ change: MessageChange, at offset: UInt64) -> Bool {
        table.withLock { table in
            guard var known = table.messages[change.target] else { return true }
            if known.effects.isDeleted { return false }
            switch change.effect {
            case .reaction: return true
            case .edit where !known.isEditable: return false
            case .edit, .deletion: known.effects.apply(change, at: offset)
            }
            known.excerpt = known.effects.text.map { Self.excerpt(of: .text($0)) } ?? ""
            defer { table.messages[change.target] = known }
            return known.effects != table.messages[change.target]?.effects
        }
    }

    /// Returns the name of a message in a label: its offset and account, or its identity, and the beginning of its
    /// text.
    func name(of id: MessageID) -> String {
        table.withLock { table in
            let known = table.messages[id]
            let excerpt = known.map { $0.excerpt.isEmpty ? "" : " \(EscapedText.quoted($0.excerpt))" } ?? ""
            return Self.name(of: id, offset: known?.offset) + excerpt
        }
    }

    /// Returns the name of a message: its offset and account, or its identity if the offset is unknown.
    static func name(of id: MessageID, offset: UInt64?) -> String {
        offset.map { "message \($0) of \(EscapedText.label(id.sender.text))" }
            ?? "message \(EscapedText.label("\(id)"))"
    }

    private static func excerpt(of body: MessageBody?) -> String {
        switch body {
        case .text(let text), .reply(_, let text):
            text.count > maxExcerptLength ? "\(text.prefix(maxExcerptLength))\u{2026}" : text
        case .attachment(let attachment): String((attachment.name ?? "").prefix(maxExcerptLength))
        case .edit, .delete, .reaction, .system, .command, .other, nil: ""
        }
    }
}
