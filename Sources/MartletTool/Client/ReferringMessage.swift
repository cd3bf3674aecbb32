import Martlet
import MartletLink
import MartletRelay
import MartletToolSupport

/// A message of `martlet send` that refers to a message of the room.
struct ReferringMessage: Equatable, Sendable {
    /// The kind of the message.
    enum Kind: String, CaseIterable, Sendable {
        case edit, delete, react, reply

        var option: Option<UInt64> {
            switch self {
            case .edit: .number(rawValue, "OFFSET", help: "replace the text of the message with this offset")
            case .delete: .number(rawValue, "OFFSET", help: "delete the message with this offset")
            case .react: .number(rawValue, "OFFSET", help: "react to the message with this offset")
            case .reply: .number(rawValue, "OFFSET", help: "reply to the message with this offset")
            }
        }
    }

    static let remove = Option.flag("remove", help: "with --react: remove the reaction")
    static let text = Option.text(
        "text", "TEXT", help: "with --edit, --react and --reply: the text, in place of standard input")

    static let specs = Kind.allCases.map { $0.option.spec } + [text.spec, remove.spec]

    var kind: Kind
    /// The offset of the message concerned.
    var offset: UInt64
    /// Whether a reaction is removed.
    var isRemoved = false

    init(_ kind: Kind, offset: UInt64, isRemoved: Bool = false) {
        self.kind = kind
        self.offset = offset
        self.isRemoved = isRemoved
    }

    /// Creates the message of the options; nil if they have none. `others` are options that exclude it.
    init?(_ arguments: ParsedArguments, excluding others: [String]) throws(UsageError) {
        let kinds = Kind.allCases.filter { arguments[$0.option] != nil }
        guard let kind = kinds.first, let offset = arguments[kind.option] else {
            if arguments[Self.text] != nil {
                throw UsageError(message: "'--text' requires '--edit', '--react' or '--reply'")
            }
            if arguments.has(Self.remove) { throw UsageError(message: "'--remove' requires '--react'") }
            return nil
        }
        if let other = kinds.dropFirst().map(\.rawValue).first ?? others.first {
            throw UsageError(message: "'--\(kind.rawValue)' and '--\(other)' exclude each other")
        }
        if arguments.has(Self.remove), kind != .react { throw UsageError(message: "'--remove' requires '--react'") }
        if arguments[Self.text] != nil, kind == .delete {
            throw UsageError(message: "'--delete' and '--text' exclude each other")
        }
        self.init(kind, offset: offset, isRemoved: arguments.has(Self.remove))
    }

    /// Sends the message, and waits until it is accepted.
    ///
    /// - Throws: `failure` if the room has no message with the offset, or an edit of it has no effect.
    func send(text: String, in room: Room, as account: AccountName) async throws {
        let page = try await room.messages(before: RoomCursor(offset: offset.addingSaturating(1)), limit: 1)
        guard let target = page.messages.last, target.offset == offset else {
            throw CommandError(.failure, "the room has no message with the offset \(offset)")
        }
        let message = try message(text: text, to: target.reference)
        if kind == .edit {
            let isEditable = (try? target.body)?.isEditable ?? false
            guard isEditable, MessageChange(try MessageBody(message.content), by: account) != nil else {
                throw CommandError(.failure, "the message \(offset) is of another account or without a text")
            }
        }
        if kind == .delete, target.sender != account {
            Output.report("martlet: readers delete the message only if they regard this account as a moderator")
        }
        _ = try await room.send(message).accepted()
    }

    private func message(text: String, to target: MessageReference) throws(MartletError) -> OutgoingMessage {
        switch kind {
        case .edit: try .edit(of: target, text: text)
        case .delete: try .delete(target)
        case .react: try .reaction(text, to: target, isRemoved: isRemoved)
        case .reply: try .reply(to: target, text: text)
        }
    }

    /// Returns the text in the options, or all of standard input without its last newline; empty for a deletion.
    ///
    /// - Throws: `dataError` if the input is longer than a message, or not UTF-8.
    func readText(_ arguments: ParsedArguments) async throws -> String {
        if kind == .delete { return "" }
        if let text = arguments[Self.text] { return text }
        let input = StandardInput()
        var bytes: [UInt8] = []
        while true {
            let next = try await input.next()
            bytes += next
            if next.isEmpty || bytes.count > LineContent.maxPieceByteCount { break }
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard bytes.count <= LineContent.maxPieceByteCount, let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandError(
                .dataError, "the text has more than \(LineContent.maxPieceByteCount) bytes, or is not UTF-8")
        }
        return text
    }
}
