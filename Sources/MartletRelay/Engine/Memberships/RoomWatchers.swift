import MartletLink
import MartletWire

/// The accounts that watch the rooms of a loop, because one of their devices has a session of its account open.
///
/// | state | owns | ends |
/// |---|---|---|
/// | watched | an account in the set of the room | the account's last session ends, its record is removed |
///
/// A room is in the table also while it is not in memory.
struct RoomWatchers: Sendable {
    private var accounts: [RoomName: Set<AccountName>] = [:]

    var isEmpty: Bool { accounts.isEmpty }
    var count: Int { accounts.values.reduce(0) { $0 + $1.count } }

    func isWatched(_ room: RoomName) -> Bool { !accounts.isEmpty && accounts[room] != nil }

    /// The accounts that watch a room, in the order of their names.
    func watchers(of room: RoomName) -> [AccountName] { accounts[room]?.sorted() ?? [] }

    func watches(_ account: AccountName, _ room: RoomName) -> Bool { accounts[room]?.contains(account) ?? false }

    mutating func insert(_ account: AccountName, _ room: RoomName) { accounts[room, default: []].insert(account) }

    /// Returns false if the room has no watcher any more.
    mutating func remove(_ account: AccountName, _ room: RoomName) -> Bool {
        guard accounts[room]?.remove(account) != nil, accounts[room]?.isEmpty == true else {
            return accounts[room] != nil
        }
        accounts[room] = nil
        return false
    }
}
