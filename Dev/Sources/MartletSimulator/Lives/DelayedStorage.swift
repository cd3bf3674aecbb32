import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
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

/// A store whose calls take virtual time.
final class DelayedStore: AsyncRoomStore {
    private let base: LifeStore
    private let weather: StorageWeather

    init(_ base: LifeStore, _ weather: StorageWeather) {
        self.base = base
        self.weather = weather
    }

    var features: RoomStoreFeatures { base.features }

    var retention: RoomRetention { base.retention }

    func load(_ room: RoomName) async throws -> RoomSnapshot {
        await weather.delay()
        return try await base.call { .load(room, $0) }
    }

    func append(_ append: RoomAppend) async throws -> UInt64 {
        await weather.delay()
        let first = try await base.call { .append(append, $0) }
        await weather.delay()
        return first
    }

    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
        await weather.delay()
        return try await base.call { .read(range, of: room, $0) }
    }

    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws {
        await weather.delay()
        try await base.call { .saveProgress(progress, of: room, $0) }
    }

    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName> {
        await weather.delay()
        let refused = try await base.call { .saveMemberships(changes, of: room, $0) }
        await weather.delay()
        return refused
    }

    func readMemberships(_ read: MembershipRead, of account: AccountName) async throws -> [StoredRoomEntry] {
        await weather.delay()
        return try await base.call { .readMemberships(read, of: account, $0) }
    }
}
