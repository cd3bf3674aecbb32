import MartletWire

/// The last edits of messages of a room, whose texts a deletion of the message erases too.
///
/// It owns the edits in the order of their offsets. They end with the room's time in memory, and beyond the bound.
struct RoomEdits: Neutral, Sendable {
    static let neutral = RoomEdits()
    /// The maximum number of edits of a room that are remembered.
    static let maxCount = 1024

    private struct Edit: Sendable {
        var target: MessageID
        var erasure: MessageErasure
    }

    private var edits = Deque<Edit>()

    /// The number of edits.
    var count: Int { edits.count }

    /// A message at an offset edits another one of its account.
    mutating func note(_ edit: MessageErasure, of target: MessageID) {
        if edits.count >= RoomEdits.maxCount { _ = edits.popFirst() }
        edits.append(Edit(target: target, erasure: edit))
    }

    /// The edits of a message.
    func edits(of target: MessageID) -> [MessageErasure] {
        edits.lazy.filter { $0.target == target }.map(\.erasure)
    }
}
