/// The current cards of a room, as its messages and deletions leave them (M-43).
///
/// | state of a card | left by |
/// |---|---|
/// | shown, with the message of the highest offset | another card with a higher offset; a deletion of its message |
/// | not shown: its latest message has the status `removed`, or is deleted | another card with a higher offset |
///
/// A card is a pair of account and ``CardID``, so no account can replace the cards of others. The order in which
/// messages are applied has no meaning (M-10). Cards that are not shown count as others do for the bound.
public struct CardBoard: Sendable {
    /// The account and the name of a card.
    public struct Key: Hashable, Sendable {
        /// The account that publishes the card.
        public let account: AccountName
        /// The name of the card among those of the account.
        public let card: CardID
    }

    /// A card with the message that states it.
    public struct Entry: Hashable, Sendable, Identifiable {
        /// The card.
        public let card: StatusCard
        /// The message.
        public let message: MessageID
        /// The offset of the message.
        public let offset: UInt64
        /// The time at which the relay accepted the message, in milliseconds since 1970.
        public let acceptedAt: UInt64

        /// The account and the name of the card.
        public var id: Key { Key(account: message.sender, card: card.id) }
        /// The time of the status, in milliseconds since 1970: that of the card, or of the message.
        public var time: UInt64 { card.time ?? acceptedAt }
    }

    /// A change of the board.
    public enum Change: Hashable, Sendable {
        /// The card is new or has another state.
        case shown(Entry)
        /// The card is not shown any more.
        case removed(Key)
    }

    private struct Slot {
        let message: MessageID
        let offset: UInt64
        /// Nil for a card that is not shown.
        var entry: Entry?
    }

    /// The maximum number of cards, those that are not shown included. The one with the lowest offset is dropped.
    public static let maxCount = 1024
    /// The maximum number of deletions that are kept for messages that arrive later. Beyond it the half with the lowest
    /// offsets is dropped (M-13).
    public static let maxDeletionCount = 8192

    private var slots: [Key: Slot] = [:]
    /// The deleted messages, with the offsets of the deletions.
    private var deletions: [MessageID: UInt64] = [:]

    /// Creates a board without cards.
    public init() {}

    /// The cards that are shown, newest state first.
    public var cards: [Entry] { slots.values.compactMap { $0.entry }.sorted { $0.offset > $1.offset } }

    /// Applies a message of the room, and returns the change; nil if there is none. A card that is dropped because of
    /// the bound is not reported.
    ///
    /// - Parameters:
    ///   - body: The content of the message.
    ///   - message: The identity of the message.
    ///   - offset: The offset in the log.
    ///   - acceptedAt: The time at which the relay accepted the message, in milliseconds since 1970.
    ///   - isModerator: Whether the sender may delete messages of others, as the application decides (M-9).
    public mutating func apply(
        _ body: MessageBody, of message: MessageID, at offset: UInt64, acceptedAt: UInt64, isModerator: Bool = false
    ) -> Change? {
        switch body {
        case .card(let card): return apply(Entry(card: card, message: message, offset: offset, acceptedAt: acceptedAt))
        case .delete(let target):
            guard target.id.sender == message.sender || isModerator else { return nil }
            return delete(target.id, at: offset)
        case .other(.erased): return delete(message, at: offset)  // M-37
        case .text, .edit, .reaction, .reply, .system, .attachment, .command, .other: return nil
        }
    }

    private mutating func apply(_ entry: Entry) -> Change? {
        let key = entry.id
        let old = slots[key]
        if let old, old.offset >= entry.offset { return nil }
        let isShown = entry.card.status != .removed && deletions[entry.message] == nil
        slots[key] = Slot(message: entry.message, offset: entry.offset, entry: isShown ? entry : nil)
        if slots.count > Self.maxCount, let oldest = slots.min(by: { $0.value.offset < $1.value.offset })?.key {
            slots[oldest] = nil
            if oldest == key { return nil }
        }
        if isShown { return .shown(entry) }
        return old?.entry == nil ? nil : .removed(key)
    }

    private mutating func delete(_ message: MessageID, at offset: UInt64) -> Change? {
        deletions[message] = max(offset, deletions[message] ?? 0)
        if deletions.count > Self.maxDeletionCount {
            let median = deletions.values.sorted()[deletions.count / 2]
            deletions = deletions.filter { $0.value >= median }
        }
        guard let key = slots.first(where: { $0.value.message == message })?.key, slots[key]?.entry != nil else {
            return nil
        }
        slots[key]?.entry = nil
        return .removed(key)
    }

    /// Removes the cards of messages beyond an offset: the log of the room was replaced by one that continues after it
    ///
    public mutating func truncate(after offset: UInt64) -> [Change] {
        let lost = slots.filter { $0.value.offset > offset }
        for key in lost.keys { slots[key] = nil }
        deletions = deletions.filter { $0.value <= offset }
        return lost.filter { $0.value.entry != nil }.keys.map { .removed($0) }
    }
}
