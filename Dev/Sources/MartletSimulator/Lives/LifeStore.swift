import MartletLink
import MartletRelay
import MartletWire

/// A store without delay, which can fail, reports what is durable, and can be replaced by an earlier copy.
final class LifeStore: ImmediateRoomErasureStore, RoomMembershipStore, @unchecked Sendable {
    // used by the thread that runs the world
    /// A backup of the store.
    private struct Copy {
        let store: InMemoryStore
        let branches: [RoomName: [LogID: UInt64]]
        let ends: [RoomName: UInt64]
    }

    private(set) var present: InMemoryStore
    private let weather: StorageWeather
    private let log: LifeLog
    private var branches: [RoomName: [LogID: UInt64]] = [:]
    private var copy: Copy?

    init(_ base: InMemoryStore, _ weather: StorageWeather, _ log: LifeLog) {
        present = base
        self.weather = weather
        self.log = log
    }

    var retention: RoomRetention { present.retention }

    func snapshot(of room: RoomName) -> RoomSnapshot {
        var snapshot = present.load(room)
        snapshot.branches = branches[room] ?? [:]
        log.begin(room, as: snapshot.log)
        return snapshot
    }

    func load(_ room: RoomName) -> RoomSnapshot { snapshot(of: room) }

    func store(_ entries: [LogEntry], _ erasures: [MessageErasure], _ room: RoomName) throws -> UInt64 {
        try weather.check()
        let first = try present.append(entries, erasing: erasures, to: room)
        log.append(entries, to: room)
        for erasure in erasures { log.erase(erasure, in: room) }
        return first
    }

    func append(_ entries: [LogEntry], to room: RoomName) throws -> UInt64 { try store(entries, [], room) }

    func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) throws -> UInt64 {
        try store(entries, erasures, room)
    }

    func read(_ range: ReadRange, of room: RoomName) -> RoomHistory { present.read(range, of: room) }

    func keep(_ progress: [AccountName: AccountProgress], of room: RoomName) {
        present.saveProgress(progress, of: room)
    }

    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) { keep(progress, of: room) }

    func keep(_ changes: MembershipChanges, of room: RoomName) throws -> Set<AccountName> {
        try weather.check()
        return present.saveMemberships(changes, of: room)
    }

    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) throws -> Set<AccountName> {
        try keep(changes, of: room)
    }

    func memberships(of account: AccountName, _ read: MembershipRead) -> [StoredRoomEntry] {
        present.memberships(of: account, read)
    }

    // MARK: - Copies

    /// Makes a backup.
    ///
    /// - Parameter firstLog: The identity that the first log has after a restoration.
    func makeCopy(firstLog: UInt64) {
        var (branches, ends) = (branches, [RoomName: UInt64]())
        for room in log.rooms {
            let snapshot = present.load(room)
            ends[room] = snapshot.lastOffset
            branches[room, default: [:]][snapshot.log!] = snapshot.lastOffset
        }
        copy = Copy(store: present.copy(firstLog: firstLog), branches: branches, ends: ends)
    }

    var hasCopy: Bool { copy != nil }

    /// Replaces the store by the backup, which is used once, while no relay uses the store.
    func restore() {
        guard let copy else { return }
        self.copy = nil
        present = copy.store
        branches = copy.branches
        for room in log.rooms { log.replace(room, by: present.load(room).log, upTo: copy.ends[room] ?? 0) }
    }
}
