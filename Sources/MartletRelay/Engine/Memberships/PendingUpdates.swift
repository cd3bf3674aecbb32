import MartletLink
import MartletWire

/// The rooms whose entries an account's session has to be sent.
///
/// | state | owns | ends |
/// |---|---|---|
/// | empty | nothing | `note` |
/// | pending | rooms in the order of their first change, each with the highest progress | `take` |
/// | list again | nothing | `takeListAgain` |
struct PendingUpdates: Sendable {
    /// The maximum number of rooms, beyond which the client requests the list again.
    static let maxCount = 256
    /// The maximum number of rooms that are read and sent together.
    static let maxStepCount = 8

    private var progress: [RoomName: AccountProgress] = [:]
    private var order = Deque<RoomName>()
    private(set) var listsAgain = false

    var isEmpty: Bool { order.isEmpty && !listsAgain }
    var count: Int { order.count }

    /// A room has changed. Rooms are not kept while the whole list is requested again.
    mutating func note(_ room: RoomName, _ progress: AccountProgress) {
        guard !listsAgain else { return }
        if let known = self.progress[room] {
            self.progress[room] = AccountProgress(
                delivered: max(known.delivered, progress.delivered), read: max(known.read, progress.read))
            return
        }
        guard order.count < Self.maxCount else { return listAgain() }
        self.progress[room] = progress
        order.append(room)
    }

    /// The whole list is requested again.
    mutating func listAgain() {
        self = PendingUpdates()
        listsAgain = true
    }

    /// Takes the first rooms.
    mutating func take() -> [RoomName: AccountProgress] {
        var taken: [RoomName: AccountProgress] = [:]
        while taken.count < Self.maxStepCount, let room = order.popFirst() {
            taken[room] = progress.removeValue(forKey: room) ?? AccountProgress()
        }
        return taken
    }

    /// Takes the request to list again; false if there is none.
    mutating func takeListAgain() -> Bool {
        defer { listsAgain = false }
        return listsAgain
    }
}
