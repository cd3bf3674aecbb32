import MartletLink

/// The items that an iteration over deliveries has returned and the outbox has not stored as acknowledged, in order.
///
/// | state of an item | left by |
/// |---|---|
/// | returned | `begin`; `takeReturned`, at the end of the iteration |
/// | being stored | `end`: removed if it was stored, returned again otherwise |
///
/// The items are bounded by the credit of the session, which `end` releases (C-89).
struct Unacknowledged: Sendable {
    private var items = Deque<Inbox.Item>()
    /// The cursors of the acknowledgements that are being stored.
    private var inProgress: [RoomCursor] = []

    var isEmpty: Bool { items.isEmpty }

    mutating func append(_ item: Inbox.Item) {
        items.append(item)
    }

    /// Begins to acknowledge all items up to a cursor; false if they are or have been acknowledged.
    mutating func begin(upTo cursor: RoomCursor) -> Bool {
        guard let index = index(of: cursor), index >= storingCount else { return false }
        inProgress.append(cursor)
        return true
    }

    /// Ends an acknowledgement. Returns the credit of the acknowledged items, in bytes.
    mutating func end(upTo cursor: RoomCursor, isStored: Bool) -> Int {
        inProgress.removeAll { $0 == cursor }
        guard isStored, let index = index(of: cursor) else { return 0 }
        var byteCount = 0
        for _ in 0...index { byteCount += items.popFirst()?.creditByteCount ?? 0 }
        return byteCount
    }

    /// Removes and returns the items that are not being stored.
    mutating func takeReturned() -> [Inbox.Item] {
        let count = storingCount
        let returned = Array(items[count...])
        for _ in returned { _ = items.popLast() }
        return returned
    }

    mutating func removeAll() {
        self = Unacknowledged()
    }

    /// The number of items that are being stored. They are the first ones.
    private var storingCount: Int {
        inProgress.reduce(0) { count, cursor in max(count, (index(of: cursor) ?? -1) + 1) }
    }

    private func index(of cursor: RoomCursor) -> Int? {
        items.indices.first { items[$0].cursor == cursor }
    }
}
