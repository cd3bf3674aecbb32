import Martlet
import MartletProtocol
import MartletRelay
import MartletWire

/// The speed and the failures of a storage in a test world.
final class StorageWeather: @unchecked Sendable {  // used by the thread that runs the world
    private let world: TestWorld
    private let maxDelay: Duration
    private var random: SeededRandom
    /// Whether calls that write throw.
    var fails = false

    init(_ world: TestWorld, maxDelay: Duration) {
        self.world = world
        self.maxDelay = maxDelay
        random = SeededRandom(seed: world.nextRandom())
    }

    func delay() async {
        let delay = maxDelay * Double(random.next() % 1000) / 1000
        // A cancelled call continues, as on a disk.
        if delay > .zero { try? await world.sleep(for: delay) }
    }

    func check() throws {
        if fails { throw StorageFault() }
    }
}

/// The error of a storage that fails.
struct StorageFault: Error {}

/// An outbox whose calls take virtual time and can fail.
final class DelayedOutbox: Outbox {
    private let base: InMemoryOutbox
    private let weather: StorageWeather

    init(_ base: InMemoryOutbox, _ weather: StorageWeather) {
        self.base = base
        self.weather = weather
    }

    func open() async throws -> OutboxState {
        await weather.delay()
        return base.open()
    }

    func claim(for account: AccountName) async throws {
        await weather.delay()
        try await base.claim(for: account)
    }

    func close() async {
        await weather.delay()
        await base.close()
    }

    func commit(_ transaction: OutboxTransaction) async throws {
        await weather.delay()
        try weather.check()
        base.commit(transaction)
        await weather.delay()
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] {
        await weather.delay()
        return base.deadLetters(in: room)
    }
}

/// A store whose calls take virtual time and can fail, and which reports what is durable.
final class DelayedStore: RoomMembershipStore {
    private let base: InMemoryStore
    private let weather: StorageWeather
    private let log: LifeLog

    init(_ base: InMemoryStore, _ weather: StorageWeather, _ log: LifeLog) {
        self.base = base
        self.weather = weather
        self.log = log
    }

    var retention: RoomRetention { base.retention }

    func load(_ room: RoomName) async throws -> RoomSnapshot {
        await weather.delay()
        return base.load(room)
    }

    func append(_ entries: [LogEntry], to room: RoomName) async throws -> UInt64 {
        await weather.delay()
        try weather.check()
        let first = try base.append(entries, to: room)
        log.append(entries, to: room)
        await weather.delay()
        return first
    }

    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
        await weather.delay()
        return base.read(range, of: room)
    }

    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws {
        await weather.delay()
        base.keep(progress, of: room)
    }

    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName> {
        await weather.delay()
        try weather.check()
        let refused = base.saveMemberships(changes, of: room)
        await weather.delay()
        return refused
    }

    func memberships(of account: AccountName, _ read: MembershipRead) async throws -> [StoredRoomEntry] {
        await weather.delay()
        return base.memberships(of: account, read)
    }
}

extension InMemoryStore {
    /// Calls the synchronous method.
    fileprivate func keep(_ progress: [AccountName: AccountProgress], of room: RoomName) {
        saveProgress(progress, of: room)
    }
}

/// A store without delay, which reports what is durable.
final class RecordedStore: ImmediateRoomStore, RoomMembershipStore {
    private let base: InMemoryStore
    private let weather: StorageWeather
    private let log: LifeLog

    init(_ base: InMemoryStore, _ weather: StorageWeather, _ log: LifeLog) {
        self.base = base
        self.weather = weather
        self.log = log
    }

    var retention: RoomRetention { base.retention }

    func load(_ room: RoomName) -> RoomSnapshot { base.load(room) }

    func append(_ entries: [LogEntry], to room: RoomName) throws -> UInt64 {
        try weather.check()
        let first = try base.append(entries, to: room)
        log.append(entries, to: room)
        return first
    }

    func read(_ range: ReadRange, of room: RoomName) -> RoomHistory { base.read(range, of: room) }

    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) {
        base.saveProgress(progress, of: room)
    }

    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) throws -> Set<AccountName> {
        try weather.check()
        return base.saveMemberships(changes, of: room)
    }

    func memberships(of account: AccountName, _ read: MembershipRead) -> [StoredRoomEntry] {
        base.memberships(of: account, read)
    }
}

/// The durable messages of all rooms, by offset.
final class LifeLog: @unchecked Sendable {  // used by the thread that runs the world
    struct Entry {
        let offset: UInt64
        let id: MessageID
        let text: String
    }

    private(set) var entries: [RoomName: [Entry]] = [:]

    func append(_ new: [LogEntry], to room: RoomName) {
        for entry in new {
            let stored = LifeLog.entry(entry)
            precondition(stored.offset == UInt64(self[room].count + 1), "the log of a room has a gap")
            entries[room, default: []].append(stored)
        }
    }

    subscript(room: RoomName) -> [Entry] { entries[room] ?? [] }

    /// The entry at an offset; nil beyond the end.
    func entry(at offset: UInt64, in room: RoomName) -> Entry? {
        let entries = self[room]
        return offset > 0 && offset <= entries.count ? entries[Int(offset) - 1] : nil
    }

    private static func entry(_ entry: LogEntry) -> Entry {
        Entry(
            offset: entry.offset, id: MessageID(sender: entry.sender, device: entry.device, counter: entry.counter),
            text: (try? Message(parsing: entry.body.rawBytes))?.text ?? "")
    }
}
