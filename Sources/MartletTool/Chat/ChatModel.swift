import Martlet
import MartletWire

/// The contents of a chat as values, which events change and ``ChatScreen`` displays.
struct ChatModel: Equatable, Sendable {
    /// The presence of a member.
    enum Presence: Equatable, Sendable {
        case online, away
    }

    /// An entry of the conversation.
    enum Entry: Equatable, Sendable {
        /// A message of a member. `key` identifies a message of this account.
        case message(
            sender: AccountName, label: String? = nil, text: String, clock: String, key: Int?, mark: DeliveryMark?,
            id: MessageID? = nil)
        /// A notice of the program.
        case notice(String)
    }

    /// The state of the connection.
    enum Health: Equatable, Sendable {
        case good, waiting, broken
    }

    /// An event in the room.
    enum Event: Equatable, Sendable {
        /// A message. The label is nil for a text.
        case received(sender: AccountName, label: String? = nil, text: String, clock: String, id: MessageID? = nil)
        /// The identity of a message that was written.
        case queued(key: Int, MessageID)
        /// The deletion of a message, whose text is no longer shown (M-5).
        case deleted(MessageID)
        case wrote(key: Int, text: String, clock: String)
        case marked(key: Int, DeliveryMark)
        case notice(String)
        case members([AccountName])
        case presence(AccountName, Presence?)
        case typing(AccountName, Bool)
        case connection(Health, String)
    }

    /// The maximum number of entries. Older ones are removed.
    static let maxEntryCount = 2_000

    let room: RoomName
    let account: AccountName
    private(set) var entries: [Entry] = []
    private(set) var members: [AccountName: Presence] = [:]
    private(set) var typing: Set<AccountName> = []
    private(set) var health = Health.waiting
    private(set) var connectionText = "connecting"
    /// The line that the user is typing.
    var editor = LineEditor()
    /// The number of rows by which the conversation is scrolled back.
    var scrolledRowCount = 0
    private var keyIndices: [Int: Int] = [:]
    private var forgottenCount = 0

    /// Creates an empty conversation.
    init(room: RoomName, account: AccountName) {
        self.room = room
        self.account = account
    }

    /// Applies an event.
    mutating func apply(_ event: Event) {
        switch event {
        case .received(let sender, let label, let text, let clock, let id):
            typing.remove(sender)
            append(.message(sender: sender, label: label, text: text, clock: clock, key: nil, mark: nil, id: id))
        case .queued(let key, let id): setIdentity(id, of: key)
        case .deleted(let id): erase(id)
        case .wrote(let key, let text, let clock):
            keyIndices[key] = forgottenCount + entries.count
            append(.message(sender: account, text: text, clock: clock, key: key, mark: .queued))
        case .marked(let key, let mark): setMark(mark, of: key)
        case .notice(let text): append(.notice(text))
        case .members(let names):
            members = Dictionary(names.map { ($0, .online) }, uniquingKeysWith: { first, _ in first })
        case .presence(let name, let presence):
            members[name] = presence
            if presence != .online { typing.remove(name) }
        case .typing(let name, let isTyping):
            if isTyping, name != account { typing.insert(name) } else { typing.remove(name) }
        case .connection(let health, let text):
            self.health = health
            connectionText = text
        }
    }

    /// The other members of the room in alphabetical order.
    var others: [(name: AccountName, presence: Presence)] {
        members.filter { $0.key != account }.sorted { $0.key < $1.key }.map { (name: $0.key, presence: $0.value) }
    }

    private mutating func append(_ entry: Entry) {
        entries.append(entry)
        guard entries.count > Self.maxEntryCount else { return }
        if case .message(_, _, _, _, let key?, _, _) = entries[0] { keyIndices[key] = nil }
        entries.removeFirst()
        forgottenCount += 1
    }

    private mutating func setMark(_ mark: DeliveryMark, of key: Int) {
        guard let index = index(of: key),
            case .message(let sender, let label, let text, let clock, let key, let old?, let id) = entries[index],
            mark.isFurther(than: old)
        else { return }
        entries[index] = .message(
            sender: sender, label: label, text: text, clock: clock, key: key, mark: mark, id: id)
    }

    private mutating func setIdentity(_ id: MessageID, of key: Int) {
        guard let index = index(of: key),
            case .message(let sender, let label, let text, let clock, let key, let mark, _) = entries[index]
        else { return }
        entries[index] = .message(
            sender: sender, label: label, text: text, clock: clock, key: key, mark: mark, id: id)
    }

    private mutating func erase(_ deleted: MessageID) {
        for (index, entry) in entries.enumerated() {
            guard case .message(let sender, _, _, let clock, let key, let mark, let id?) = entry, id == deleted else {
                continue
            }
            entries[index] = .message(
                sender: sender, label: "deleted", text: "", clock: clock, key: key, mark: mark, id: id)
        }
    }

    private func index(of key: Int) -> Int? {
        keyIndices[key].map { $0 - forgottenCount }.flatMap { entries.indices.contains($0) ? $0 : nil }
    }
}
