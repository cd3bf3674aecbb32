import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

/// Roles over sockets, with stores that outlive a relay or fail.
@Suite struct RoomRolesRelayTests {
    private static let bob = AccountName("bob")

    private func peer(_ account: String, at port: UInt16) async throws -> WirePeer {
        let peer = try await WirePeer.connect(to: port)
        try await peer.hello(FrameWriter.hello(account))
        return peer
    }

    private func withRoles(
        store: any RoomStore, onEvent: @escaping @Sendable (RelayEvent) -> Void = { _ in },
        _ body: (UInt16) async throws -> Void
    ) async throws {
        let configuration = RoleMatrix.configuration(.withoutTimeouts)
        try await withRelay(configuration, store: store, policy: RoleMatrix.Policy(), onEvent: onEvent) {
            try await body($1)
        }
    }

    //
    @Test func `a relay that is restarted with its store keeps roles, bans and mutes`() async throws {
        let store = InMemoryStore()
        try await withRoles(store: store) { port in
            let alice = try await peer("alice", at: port)
            try await alice.open()
            #expect(try await alice.operate(.ban(Self.bob)) == .none)
            #expect(try await alice.operate(.mute(AccountName("carol"), seconds: 3600)) == .none)
        }
        try await withRoles(store: store) { port in
            let bob = try await peer("bob", at: port)
            await bob.send(Open(room: RoomName("lobby"), cursor: 0), on: .first)
            #expect(try await bob.expect(Reset.self).code == .roomForbidden)
            let carol = try await peer("carol", at: port)
            try await carol.open()
            await carol.write { $0.text("hello", counter: 1, on: .first) }
            let receipt: Receipt = try await carol.next()
            #expect(receipt == .refused(Receipt.Refusal(counter: 1, code: .forbidden)))
            let alice = try await peer("alice", at: port)
            try await alice.open()
            let content = try #require(try await alice.response(to: .listRoles(after: nil)).content)
            let roster = try RoomRoster(parsing: content)
            #expect(roster.ownRole == .owner && roster.standings.map(\.account.text) == ["alice", "bob", "carol"])
        }
    }

    // Specs/hostile.md row 65
    @Test(arguments: [1, 3]) func `row 65, a refused operation → a record with the address of its peer`(loopCount: Int)
        async throws
    {
        let log = EventLog()
        let configuration = RoleMatrix.configuration(.withoutTimeouts)
        try await withRelay(configuration, loopCount: loopCount, policy: RoleMatrix.Policy(), onEvent: log.note) {
            let alice = try await peer("alice", at: $1)
            try await alice.open()
            let bob = try await peer("bob", at: $1)
            try await bob.open()
            #expect(try await bob.operate(.ban(AccountName("alice"))) == .forbidden)
            while !Task.isCancelled, !log.all.contains(where: { AuditRecord($0)?.code == .forbidden }) {
                await Task.yield()
            }
        }
        let record = log.all.compactMap { AuditRecord($0) }.first { $0.code == .forbidden }
        #expect(record?.event == .roomOperation && record?.peer?.ip == .loopbackV4)
    }

    @Test(arguments: [1, 3])
    func `a creation and a performed operation → records with the address of the peer`(loopCount: Int) async throws {
        let log = EventLog()
        let configuration = RoleMatrix.configuration(.withoutTimeouts)
        try await withRelay(configuration, loopCount: loopCount, policy: RoleMatrix.Policy(), onEvent: log.note) {
            let alice = try await peer("alice", at: $1)
            try await alice.open()
            #expect(try await alice.operate(.ban(Self.bob)) == .none)
            while !Task.isCancelled, !log.all.contains(where: { AuditRecord($0)?.operation == .ban }) {
                await Task.yield()
            }
        }
        let records = log.all.compactMap { AuditRecord($0) }.filter { $0.room != nil }
        #expect(records.map(\.event) == [.roomCreated, .roomOperation])
        #expect(records.map { $0.peer?.ip } == [.loopbackV4, .loopbackV4])
    }

    //
    @Test func `a store that fails to save refuses the operation with storeUnavailable, and reports an event`()
        async throws
    {
        let store = RoleStore()
        let log = EventLog()
        try await withRoles(store: store, onEvent: log.note) { port in
            let alice = try await peer("alice", at: port)
            try await alice.open()
            let bob = try await peer("bob", at: port)
            try await bob.open()
            store.setFails(true)
            #expect(try await alice.operate(.ban(Self.bob)) == .storeUnavailable)
            #expect(log.all.contains { if case .storeFailed(_, _) = $0 { true } else { false } })
            store.setFails(false)
            #expect(try await bob.publish("still here", counter: 1) == 1)
            #expect(try await alice.operate(.ban(Self.bob)) == .none)
            #expect(try await bob.next(Reset.self).code == .roomForbidden)
        }
    }

    // R-57, Specs/hostile.md row 59
    @Test func `row 59, rooms beyond an account's maximum are refused, and the store has not failed`() async throws {
        let log = EventLog()
        var configuration = RoleMatrix.configuration(.withoutTimeouts)
        configuration.roomRoles?.maxRoomsPerAccount = 1
        try await withRelay(configuration, policy: RoleMatrix.Policy(), onEvent: log.note) { _, port in
            let alice = try await peer("alice", at: port)
            try await alice.open("first", on: .first)
            await alice.send(Open(room: RoomName("second"), cursor: 0), on: .second)
            #expect(try await alice.next(Reset.self).code == .tooManyRooms)
            #expect(!log.all.contains { if case .storeFailed(_, _) = $0 { true } else { false } })
            let records = log.all.compactMap { AuditRecord($0) }.filter { $0.event == .roomCreated }
            #expect(records.map(\.room?.text) == ["first", "second"] && records.map(\.code) == [nil, .tooManyRooms])
        }
    }

    @Test func `a store without roles prevents the start of a relay with roles`() throws {
        var configuration = try Relay.Configuration(port: 0)
        configuration.engine.roomRoles = RoomRolesConfiguration()
        let relay = Relay(
            configuration: configuration, store: CountingStore(), authenticator: .allowAll, policy: .allowAll)
        #expect(throws: RelayError.rolesNotKept) { try relay.start() }
        let other = Relay(
            configuration: configuration, store: SlowStore(), authenticator: .allowAll, policy: .allowAll)
        #expect(throws: RelayError.rolesNotKept) { try other.start() }
    }

    @Test func `each operation is a record of the audit log, with its target, value and refusal`() async throws {
        let log = EventLog()
        try await withRoles(store: InMemoryStore(), onEvent: log.note) { port in
            let alice = try await peer("alice", at: port)
            try await alice.open()
            let bob = try await peer("bob", at: port)
            try await bob.open()
            #expect(try await alice.operate(.setRole(.moderator, of: Self.bob)) == .none)
            #expect(try await alice.operate(.mute(AccountName("carol"), seconds: 60)) == .none)
            #expect(try await bob.operate(.kick(AccountName("alice"))) == .forbidden)
        }
        let records = log.all.compactMap { AuditRecord($0) }.filter { $0.event == .roomOperation }
        #expect(records.map(\.account?.text) == ["alice", "alice", "bob"])
        #expect(records.map(\.operation) == [.role, .mute, .kick])
        #expect(records.map(\.target?.text) == ["bob", "carol", "alice"])
        #expect(records.map(\.value) == ["moderator", "60 s", nil])
        #expect(records.map(\.code) == [nil, nil, .forbidden])
        #expect(records.allSatisfy { $0.room?.text == "lobby" })
    }
}
