import MartletLink
public import MartletWire

extension CardBoard {
    /// Applies an item of ``Room/items``, and returns the changes. The room is opened from the start of its log
    /// (``Room/Options/From/start``), so that the board has the cards of all kept messages.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - isModerator: Whether an account may delete messages of others (M-9), such as the account of a relay that
    ///     keeps roles, which erases messages in its own name.
    public mutating func apply(_ item: RoomItem, isModerator: (AccountName) -> Bool = { _ in false }) -> [Change] {
        switch item {
        case .message(let message):
            guard let body = try? message.body else { return [] }
            let change = apply(
                body, of: message.id, at: message.offset, acceptedAt: message.acceptedAt,
                isModerator: isModerator(message.sender))
            return change.map { [$0] } ?? []
        case .gap: return []
        case .logReplaced(let previous, let current):
            return current.offset < previous.offset ? truncate(after: current.offset) : []
        }
    }
}

extension RoomItem {
    /// The last offset of the log that the item concerns.
    package var endOffset: UInt64 {
        switch self {
        case .message(let message): message.offset
        case .gap(let gap): gap.upperBound
        case .logReplaced(_, let current): current.offset
        }
    }
}
