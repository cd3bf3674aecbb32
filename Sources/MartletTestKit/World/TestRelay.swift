import MartletLink
public import MartletRelay
import MartletTransport
import MartletWire

/// A relay in a virtual world: a store, and one process after another.
public final class TestRelay: @unchecked Sendable {  // used by the thread that runs the world
    /// The address of a relay for which none is given.
    public static let defaultAddress = "martlet://10.0.0.1:7227"

    struct Parts {
        var configuration: Relay.Configuration
        var store: any RoomStore
        var authenticator: any Authenticator
        var policy: any RoomPolicy
        var requestHandler: (any RequestHandler)?
    }

    /// The address.
    public let address: String
    /// The current relay; nil after `stop` and `kill`.
    public private(set) var relay: Relay?
    /// The store of all processes.
    public var store: any RoomStore { parts.store }
    /// The bounds of later processes.
    public var configuration: Relay.Configuration {
        get { parts.configuration }
        set { parts.configuration = newValue }
    }

    private let host: VirtualHost
    private var parts: Parts
    private var fence: Fence?

    init(address: String, host: VirtualHost, parts: Parts) {
        self.address = address
        self.host = host
        self.parts = parts
    }

    /// Starts a relay with the store of the earlier one, which must have been stopped or killed.
    ///
    /// - Throws: The errors of `Relay.start()`.
    @discardableResult
    public func restart() throws -> Relay {
        precondition(relay == nil, "a process has one relay at a time")
        let fence = Fence()
        let relay = makeRelay(parts.store, fence)
        try relay.start()
        self.relay = relay
        self.fence = fence
        return relay
    }

    private func makeRelay(_ store: some RoomStore, _ fence: Fence) -> Relay {
        Relay(
            configuration: parts.configuration, store: FencedStore(store, fence), authenticator: parts.authenticator,
            policy: parts.policy, requestHandler: parts.requestHandler)
    }

    /// Drains the relay and shuts it down.
    public func stop(within timeout: Duration = .seconds(10)) async {
        guard let relay else { return }
        self.relay = nil
        await relay.drain(within: timeout)
        await relay.shutdown()
    }

    /// Ends the process as `kill -9` does: its connections break, and the store keeps what was stored.
    public func kill() async {
        guard let relay else { return }
        self.relay = nil
        fence?.isClosed = true
        host.network.sever(host)
        await relay.shutdown()
    }
}

/// The store of a relay as one process sees it.
final class FencedStore<Base: RoomStore>: RoomStore {
    private let base: Base
    private let fence: Fence

    init(_ base: Base, _ fence: Fence) {
        self.base = base
        self.fence = fence
    }

    var retention: RoomRetention { base.retention }

    private func check() throws {
        if fence.isClosed { throw ProcessEnded() }
    }

    func load(_ room: RoomName) async throws -> RoomSnapshot {
        try check()
        return try await base.load(room)
    }

    func append(_ entries: [LogEntry], to room: RoomName) async throws -> UInt64 {
        try check()
        return try await base.append(entries, to: room)
    }

    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
        try check()
        return try await base.read(range, of: room)
    }

    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws {
        try check()
        try await base.saveProgress(progress, of: room)
    }

    func touch(_ rooms: [RoomName]) async throws {
        try check()
        try await base.touch(rooms)
    }
}

extension FencedStore: RoomErasureStore where Base: RoomErasureStore {
    func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) async throws -> UInt64 {
        try check()
        return try await base.append(entries, erasing: erasures, to: room)
    }
}

extension FencedStore: RoomRoleStore where Base: RoomRoleStore {
    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) async throws {
        try check()
        try await base.saveRoles(roles, of: room, creation: creation)
    }
}

extension FencedStore: RoomMembershipStore where Base: RoomMembershipStore {
    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName> {
        try check()
        return try await base.saveMemberships(changes, of: room)
    }

    func memberships(of account: AccountName, _ read: MembershipRead) async throws -> [StoredRoomEntry] {
        try check()
        return try await base.memberships(of: account, read)
    }
}

extension FencedStore: ImmediateRoomStore where Base: ImmediateRoomStore {
    func load(_ room: RoomName) throws -> RoomSnapshot {
        try check()
        return try base.load(room)
    }

    func append(_ entries: [LogEntry], to room: RoomName) throws -> UInt64 {
        try check()
        return try base.append(entries, to: room)
    }

    func read(_ range: ReadRange, of room: RoomName) throws -> RoomHistory {
        try check()
        return try base.read(range, of: room)
    }

    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) throws {
        try check()
        try base.saveProgress(progress, of: room)
    }
}

extension FencedStore: ImmediateRoomRoleStore where Base: ImmediateRoomRoleStore {
    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) throws {
        try check()
        try base.saveRoles(roles, of: room, creation: creation)
    }
}

extension FencedStore: ImmediateRoomErasureStore where Base: ImmediateRoomErasureStore {
    func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) throws -> UInt64 {
        try check()
        return try base.append(entries, erasing: erasures, to: room)
    }
}
