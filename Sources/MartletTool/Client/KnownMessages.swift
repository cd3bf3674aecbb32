import Martlet
import MartletLink
import MartletSQLite
import MartletToolSupport
import MartletTransport
import Synchronization

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
        case .edit, .delete, .reaction, .system, .command, .card, .other, nil: ""
        }
    }
}

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

/// The reports about messages of earlier commands with the same outbox, on standard error (C-105).
final class EarlierMessages: Sendable {
    /// The maximum number of failures that are reported in a line of their own.
    private static let maxLineCount = 10

    private let path: String
    private let failureCount = Atomic(0)

    init(path: String) {
        self.path = path
    }

    /// Reports that the device has another ID, or that a message of an earlier command has failed.
    func note(_ event: Client.LogEvent) {
        if event.name == "device.replaced" { Output.report(SafeText.line("martlet: \(path): \(event.message)")) }
        guard event.name == "message.failed", event.concernsEarlierClient else { return }
        guard failureCount.wrappingAdd(1, ordering: .relaxed).newValue <= Self.maxLineCount else { return }
        Output.report(
            SafeText.line("martlet: a message of an earlier command to \(event.room ?? ""): \(event.message)"))
    }

    /// Reports the failed messages that the outbox has had before.
    nonisolated(nonsending) static func reportFailures(in outbox: SQLiteOutbox?) async {
        guard let outbox, let state = try? await outbox.open() else { return }
        let count = state.outcomes.count { if case .failed = $0.result { true } else { false } }
        guard count > 0 else { return }
        Output.report(
            SafeText.line(
                "martlet: \(outbox.path) has failed messages of earlier commands: \(count); "
                    + "'martlet outbox' lists and discards them"))
    }

    /// The exit code of a command that ends with `code`: failure if a message of an earlier command has failed.
    func exitCode(_ code: ExitCode) -> ExitCode {
        code == .success && failureCount.load(ordering: .relaxed) > 0 ? .failure : code
    }
}
