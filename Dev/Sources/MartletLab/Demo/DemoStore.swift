import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// A store in memory that accepts one room and fails for all others.
final class DemoStore: ImmediateRoomStore, RoomMembershipStore {
    private struct Refusal: Error {}

    private let inner: InMemoryStore
    private let room: RoomName

    init(_ inner: InMemoryStore, of room: RoomName) {
        self.inner = inner
        self.room = room
    }

    func load(_ room: RoomName) throws -> RoomSnapshot {
        guard room == self.room else { throw Refusal() }
        return inner.load(room)
    }

    func append(_ entries: [LogEntry], to room: RoomName) throws -> UInt64 { try inner.append(entries, to: room) }

    func read(_ range: ReadRange, of room: RoomName) throws -> RoomHistory { inner.read(range, of: room) }

    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) -> Set<AccountName> {
        inner.saveMemberships(changes, of: room)
    }

    func memberships(of account: AccountName, _ read: MembershipRead) -> [StoredRoomEntry] {
        inner.memberships(of: account, read)
    }
}
