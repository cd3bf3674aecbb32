import MartletTransport
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletWire

/// Requests for the administration of a relay, over sockets.
@Suite(.timeLimit(.minutes(10))) struct RelayRequestsTests {
    /// Permits "root" the administration of the relay, and everybody everything in rooms.
    private static let rules = """
        allow administer in martlet.administration to account root
        allow publish,history,request,create,administer in * to account owner
        allow all in * to everyone
        """

    private static var policy: RoomRules { get throws { try RoomRules(parsing: Array(rules.utf8)) } }

    private static var engine: RelayConfiguration {
        var engine = RelayConfiguration.withoutTimeouts
        engine.serverAccount = AccountName("server")
        return engine
    }

    private func member(_ account: String, _ room: String = "lobby", at port: UInt16) async throws -> WirePeer {
        let peer = try await WirePeer.connect(to: port)
        try await peer.hello(FrameWriter.hello(account))
        try await peer.open(room)
        return peer
    }

    /// The query with all fields that methods require.
    private static let complete = AdministrationQuery(
        room: "lobby", account: "bob", duration: .seconds(60), text: "hear", limit: 5)

    /// A content with the limit 0.
    private static let invalid: [UInt8] = [0, 0x5F, 0, 0, 0, 2, 0, 0]

    // MARK: Authority

    // Specs/hostile.md row 108
    @Test(arguments: AdministrationMethod.allCases)
    func `an account without the permission → forbidden, and an audit record`(_ method: AdministrationMethod)
        async throws
    {
        let log = EventLog()
        // "owner" administers all rooms, but not the relay.
        try await withRelay(Self.engine, policy: try Self.policy, onEvent: log.note) { relay, port in
            for account in ["alice", "owner"] {
                let peer = try await WirePeer.administrator(account, at: port)
                #expect(try await peer.administer(method, Self.complete).status == .forbidden)
                #expect(try await peer.request(method, content: Self.invalid).status == .forbidden)
            }
            #expect(await relay.overview.roomCount == 0)
        }
        let records = log.all.compactMap { AuditRecord($0) }.filter { $0.event == .administration }
        #expect(records.count == 4 && records.allSatisfy { $0.code == .forbidden && $0.isRefusal })
        #expect(records.allSatisfy { $0.method?.text == method.rawValue && $0.peer?.ip == .loopbackV4 })
        #expect(records[0].account == "alice" && records[0].room == "lobby" && records[0].target == "bob")
    }

    //
    @Test func `a policy that permits everything to everyone → forbidden`() async throws {
        try await withRelay(Self.engine) { _, port in
            let peer = try await WirePeer.administrator("root", at: port)
            #expect(try await peer.administer(.status).status == .forbidden)
        }
    }

    //
    @Test func `an unknown method → forbidden, and unknownMethod for an administrator; no handler is called`()
        async throws
    {
        let handler = Handler()
        try await withRelay(Self.engine, policy: try Self.policy, requestHandler: handler) { _, port in
            for (account, status) in [("alice", ErrorCode.forbidden), ("root", .unknownMethod)] {
                let peer = try await WirePeer.administrator(account, at: port)
                #expect(try await peer.request(MethodName("admin.reboot")!, content: nil).status == status)
                #expect(try await peer.request(MethodName("admins")!, content: nil).status == .none)
            }
        }
        #expect(handler.methods == ["admins", "admins"])
    }

    //
    @Test func `a policy that decides otherwise, or fails → forbidden, or serverBusy, from the next request on`()
        async throws
    {
        let policy = ChangingPolicy()
        try await withRelay(Self.engine, policy: policy) { _, port in
            let peer = try await WirePeer.administrator("root", at: port)
            #expect(try await peer.administer(.status).status == .none)
            policy.current.withLock { $0 = .granted(.all) }
            #expect(try await peer.administer(.status).status == .forbidden)
            policy.current.withLock { $0 = nil }
            #expect(try await peer.administer(.status).status == .serverBusy)
            policy.current.withLock { $0 = .granted(.administer) }
            #expect(try await peer.administer(.status).status == .none)
        }
    }

    // R-181, Specs/hostile.md row 108
    @Test func `refused requests beyond the rate of the account → tooManyRequests; those of an administrator are free`()
        async throws
    {
        try await withRelay(Self.engine, policy: try Self.policy) { _, port in
            let root = try await WirePeer.administrator("root", at: port)
            for _ in 0..<80 { #expect(try await root.administer(.accounts).status == .none) }
            let alice = try await WirePeer.administrator("alice", at: port)
            // One write of all requests, since the allowance grows with real time.
            let request = WirePeer.request(
                MethodName(AdministrationMethod.accounts.rawValue)!, content: AdministrationQuery().encode())
            let count = 4 * AccountTable.operationsBurst / 16
            await alice.write { writer in (0..<count).flatMap { _ in writer.frame(request, on: .first) } }
            var statuses: [ErrorCode] = []
            for _ in 0..<count { statuses.append(try await alice.next(Response.self).status) }
            #expect(statuses.prefix { $0 == .forbidden }.count >= AccountTable.operationsBurst / 16)
            #expect(Set(statuses) == [.forbidden, .tooManyRequests])
        }
    }

    //
    @Test(arguments: [
        (AdministrationMethod.room, AdministrationQuery(account: "bob"), ErrorCode.missingField),
        (.kick, AdministrationQuery(room: "lobby"), .missingField),
        (.ban, AdministrationQuery(account: "bob"), .missingField),
        (.mute, AdministrationQuery(room: "lobby", account: "bob"), .missingField),
        (.mute, AdministrationQuery(room: "lobby", account: "bob", duration: .zero), .invalidValue),
        (.revoke, AdministrationQuery(room: "lobby"), .missingField),
        (.announce, AdministrationQuery(room: "lobby"), .missingField),
        (.announce, AdministrationQuery(text: ""), .invalidValue),
        (.announce, AdministrationQuery(room: "lobby", text: ""), .invalidValue),
        (.erase, AdministrationQuery(room: "lobby"), .missingField),
        (.export, AdministrationQuery(), .missingField),
        // Without roles.
        (.ban, complete, .unknownMethod), (.unban, complete, .unknownMethod), (.mute, complete, .unknownMethod),
        (.unmute, complete, .unknownMethod),
        // A place that the relay has not named.
        (.links, AdministrationQuery(next: .max), .none), (.accounts, AdministrationQuery(next: 1 << 31), .none),
        (.erase, AdministrationQuery(room: "lobby", account: "bob", next: .max), .none),
        (.export, AdministrationQuery(room: "lobby", next: .max - 1), .none),
    ])
    func `a content → its status`(_ method: AdministrationMethod, _ query: AdministrationQuery, _ status: ErrorCode)
        async throws
    {
        try await withRelay(Self.engine, policy: try Self.policy) { _, port in
            let root = try await WirePeer.administrator("root", at: port)
            #expect(try await root.administer(method, query).status == status)
        }
    }

    //
    @Test func `a content with a repeated field, or an invalid one → duplicateField, invalidValue`() async throws {
        try await withRelay(Self.engine, policy: try Self.policy) { _, port in
            let root = try await WirePeer.administrator("root", at: port)
            let room = AdministrationQuery(room: "lobby").encode()
            #expect(try await root.request(.room, content: room + room).status == .duplicateField)
            #expect(try await root.request(.links, content: Self.invalid).status == .invalidValue)
            #expect(try await root.administer(.room, AdministrationQuery(room: "lobby")).status == .none)
        }
    }

    // MARK: Lists

    //
    @Test func `status, links, accounts, rooms and room → the objects of the relay`() async throws {
        try await withRelay(Self.engine, policy: try Self.policy) { _, port in
            let bob = try await member("bob", at: port)
            try await bob.publish("one", counter: 1)
            let root = try await WirePeer.administrator("root", at: port)
            let state = try await root.content(.status)
            let status = try RelayOverview(parsing: state.rawBytes)
            #expect(status.linkCount == 2 && status.connectionCount == 2 && status.roomCount == 1)
            #expect(status.messageCount == 1 && status.memoryByteCount > 0 && status.since > 0)
            let links = try await root.list(.links) { try LinkOverview(parsing: $0.rawBytes) }
            #expect(links.map(\.account).sorted() == ["bob", "root"])
            #expect(links.allSatisfy { $0.address?.hasPrefix("127.0.0.1:") == true && $0.since != nil })
            #expect(links.map(\.sessionCount) == [1, 1] && links.compactMap(\.agent) == ["test 1.0"])
            let accounts = try await root.list(.accounts) { try AccountOverview(parsing: $0.rawBytes) }
            #expect(accounts.map(\.account).sorted() == ["bob", "root"])
            #expect(accounts.map(\.linkCount) == [1, 1])
            let rooms = try await root.list(.rooms) { try RoomOverview(parsing: $0.rawBytes) }
            #expect(rooms.map(\.room) == ["lobby"] && rooms[0].memberCount == 1 && rooms[0].head == 1)
            let content = try await root.content(.room, AdministrationQuery(room: "lobby"))
            let room = try RoomOverview(parsing: content.rawBytes)
            #expect(room.head == 1 && room.first == 1 && room.memberCount == 1 && room.log == rooms[0].log)
            #expect(room.roleCount == nil && room.access == nil)
        }
    }

    //
    @Test(arguments: [1, 3]) func `more links than a page has → each is in one page`(loopCount: Int) async throws {
        try await withRelay(Self.engine, loopCount: loopCount, policy: try Self.policy) { relay, port in
            var peers: [WirePeer] = []
            for number in 0..<40 { peers.append(try await member("user \(number)", "room \(number)", at: port)) }
            let root = try await WirePeer.administrator("root", at: port)
            for limit in [nil, 1, 7, 1000] as [UInt16?] {
                let links = try await root.list(.links, limit: limit) { try LinkOverview(parsing: $0.rawBytes) }
                #expect(Set(links.map(\.account)).count == 41 && links.count == 41)
            }
            let content = try await root.content(.links)
            let first = try AdministrationPage(parsing: content.rawBytes)
            #expect(first.items.count <= 32 && first.next != nil)
            let accounts = try await root.list(.accounts, limit: 32) { try AccountOverview(parsing: $0.rawBytes) }
            let rooms = try await root.list(.rooms, limit: 32) { try RoomOverview(parsing: $0.rawBytes) }
            #expect(accounts.count == 41 && Set(rooms.map(\.room)).count == 40 && rooms.count == 40)
            withExtendedLifetime(peers) {}
            #expect(await relay.links(from: nil, limit: 0).items.count <= 1)
        }
    }

    //
    @Test func `a page visits 1,024 places at most, and the next one continues`() {
        let none = TablePage.slots(0..<3000, from: 0, limit: 32) { _ in false }
        #expect(none.slots.isEmpty && none.next == 1024)
        let some = TablePage.slots(0..<3000, from: 1024, limit: 2) { $0 % 3 == 0 }
        #expect(some.slots == [1026, 1029] && some.next == 1030)
        let last = TablePage.slots(0..<3000, from: 2990, limit: 32) { _ in true }
        #expect(last.slots.count == 10 && last.next == nil)
        let beyond = TablePage.slots(0..<3, from: 1 << 31, limit: 32) { _ in true }
        #expect(beyond.slots.isEmpty && beyond.next == nil)
    }

    // MARK: Rooms

    //
    @Test func `kick, ban, unban, mute and unmute → the operation in the room, by the relay`() async throws {
        let log = EventLog()
        let configuration = RoleMatrix.configuration(.withoutTimeouts)
        try await withRelay(configuration, policy: try Self.policy, onEvent: log.note) { relay, port in
            let alice = try await member("alice", at: port)
            let bob = try await member("bob", at: port)
            let root = try await WirePeer.administrator("root", at: port)
            let query = AdministrationQuery(room: "lobby", account: "bob", duration: .seconds(60))
            #expect(try await root.administer(.mute, query).status == .none)
            await bob.write { $0.text("hello", counter: 1, on: .first) }
            #expect(try await bob.next(Receipt.self) == .refused(Receipt.Refusal(counter: 1, code: .forbidden)))
            #expect(try await root.administer(.unmute, query).status == .none)
            try await bob.publish("hello", counter: 2)
            #expect(try await root.administer(.kick, query).status == .none)
            #expect(try await bob.next(Reset.self).code == .kicked)
            #expect(try await root.administer(.ban, query).status == .none)
            await bob.send(Open(room: "lobby", cursor: 0), on: .second)
            #expect(try await bob.next(Reset.self).code == .roomForbidden)
            let content = try await root.content(.room, AdministrationQuery(room: "lobby"))
            let room = try RoomOverview(parsing: content.rawBytes)
            #expect(room.roleCount == 2 && room.access == .open && room.memberCount == 1)
            #expect(try await root.administer(.unban, query).status == .none)
            #expect(
                try await root.administer(.ban, AdministrationQuery(room: "empty", account: "bob")).status == .refused)
            withExtendedLifetime(alice) {}
            await #expect(throws: RoomCommandError.refused(.refused)) { try await relay.ban("server", in: "lobby") }
        }
        let records = log.all.compactMap { AuditRecord($0) }.filter { $0.event == .administration }
        #expect(
            records.compactMap { $0.method?.text } == [
                "admin.mute", "admin.unmute", "admin.kick", "admin.ban", "admin.room", "admin.unban", "admin.ban",
            ])
        #expect(records.map(\.code) == [nil, nil, nil, nil, nil, nil, .refused])
    }

    //
    @Test(arguments: [1, 3])
    func `kick without a room → the links of the account end, and it may sign in again`(loopCount: Int) async throws {
        try await withRelay(Self.engine, loopCount: loopCount, policy: try Self.policy) { relay, port in
            let bob = try await member("bob", at: port)
            let alice = try await member("alice", at: port)
            let root = try await WirePeer.administrator("root", at: port)
            #expect(try await root.administer(.kick, AdministrationQuery(account: "bob")).status == .none)
            #expect(try await bob.finalNotice()?.code == .serverBusy)
            #expect(await relay.overview.linkCount == 2)
            let again = try await member("bob", at: port)
            try await again.publish("back", counter: 1)
            #expect(try await alice.expect(Message.self).text == "back")
        }
    }

    //
    @Test func `kick from a room that nobody has used → refused with a reason, with roles or without`() async throws {
        for engine in [Self.engine, RoleMatrix.configuration(.withoutTimeouts)] {
            try await withRelay(engine, policy: try Self.policy) { _, port in
                let alice = try await member("alice", at: port)
                let root = try await WirePeer.administrator("root", at: port)
                let answer = try await root.administer(.kick, AdministrationQuery(room: "none", account: "bob"))
                #expect(answer.status == .refused)
                #expect(answer.reason == "no such room: no account has created it")
                let lobby = AdministrationQuery(room: "lobby", account: "bob")
                #expect(try await root.administer(.kick, lobby).status == .none)
                withExtendedLifetime(alice) {}
            }
        }
    }

    //
    @Test(arguments: [1, 3])
    func `rooms → also those that are only in the store, in the order of their names`(loopCount: Int) async throws {
        let store = InMemoryStore()
        let entry = LogEntry.text("old", counter: 1, by: "bob")
        for number in 0..<40 {
            _ = store.load(RoomName("room \(number)")!)
            try store.append([entry], to: RoomName("room \(number)")!)
        }
        try await withRelay(Self.engine, loopCount: loopCount, store: store, policy: try Self.policy) { relay, port in
            let bob = try await member("bob", "room 7", at: port)
            try await bob.publish("new", counter: 2)
            let root = try await WirePeer.administrator("root", at: port)
            for limit in [nil, 7] as [UInt16?] {
                let rooms = try await root.list(.rooms, limit: limit) { try RoomOverview(parsing: $0.rawBytes) }
                #expect(rooms.map(\.room) == (0..<40).map { RoomName("room \($0)")! }.sorted())
                #expect(rooms.allSatisfy { $0.head == ($0.room == "room 7" ? 2 : 1) && $0.first == 1 && $0.log != nil })
                #expect(rooms.filter { $0.memberCount == 1 && $0.memoryByteCount > 0 }.map(\.room) == ["room 7"])
            }
            #expect(await relay.overview.roomCount == 1)
        }
    }

    // MARK: Retention

    //
    @Test func `retention → bounds of the room in place of those of the relay; none → those again`()
        async throws
    {
        let log = EventLog()
        var bounds = InMemoryStore.Bounds()
        bounds.maxMessagesPerRoom = 4
        let store = InMemoryStore(bounds: bounds)
        try await withRelay(Self.engine, store: store, policy: try Self.policy, onEvent: log.note) { _, port in
            let bob = try await member("bob", at: port)
            let root = try await WirePeer.administrator("root", at: port)
            func retention() async throws -> RoomRetention {
                let content = try await root.content(.room, AdministrationQuery(room: "lobby"))
                let room = try RoomOverview(parsing: content.rawBytes)
                await bob.send(
                    Request(
                        correlation: 1, method: RelayMethod.head.name, deadline: .seconds(60), recipient: nil,
                        sender: nil, content: nil), on: .first)
                let head = try await bob.next(Response.self).content ?? []
                let shown = RoomRetention(
                    maxAge: room.maxAge, maxCount: room.maxCount, maxByteCount: room.maxByteCount)
                #expect(try RoomRetention(parsing: head) == shown)
                return shown
            }
            let ofStore = store.retention
            #expect(try await retention() == ofStore)
            for (count, kept) in [(2, 2), (8, 6), (nil, 4)] as [(UInt64?, UInt64)] {
                let query = AdministrationQuery(room: "lobby", maxAge: count.map { $0 << 40 }, maxCount: count)
                #expect(try await root.administer(.retention, query).status == .none)
                #expect(try await retention().maxCount == count ?? 4)
                #expect(try await retention().maxAge == count.map { $0 << 40 })
                #expect(try await retention().maxByteCount == ofStore.maxByteCount)
                let before = store.load("lobby").lastOffset
                for number in 1...4 { try await bob.publish("text", counter: before + UInt64(number)) }
                let snapshot = store.load("lobby")
                #expect(snapshot.lastOffset + 1 - snapshot.firstOffset == kept)
            }
            for invalid in [
                AdministrationQuery(room: "lobby", maxAge: 0), AdministrationQuery(room: "lobby", maxCount: 0),
                AdministrationQuery(room: "lobby", maxByteCount: 0),
            ] { #expect(try await root.administer(.retention, invalid).status == .invalidValue) }
            #expect(try await root.administer(.retention).status == .missingField)
        }
        let records = log.all.compactMap { AuditRecord($0) }.filter { $0.method?.text == "admin.retention" }
        #expect(records.filter { $0.code == nil && $0.room == "lobby" }.count == 3)
    }

    //
    @Test func `bounds of a room → they hold at the next start with the store`() async throws {
        let store = InMemoryStore()
        let bounds = RoomRetention(maxCount: 3)
        try await withRelay(Self.engine, store: store, policy: try Self.policy) { relay, _ in
            try await relay.setRetention(bounds, of: "lobby")
        }
        try await withRelay(Self.engine, store: store, policy: try Self.policy) { relay, _ in
            #expect(try await relay.overview(of: "lobby").maxCount == 3)
            try await relay.setRetention(RoomRetention(), of: "lobby")
            #expect(try await relay.overview(of: "lobby").maxCount == 10_000)
        }
    }

    //
    @Test func `a store without a list of rooms and bounds of rooms → the rooms in memory; unknownMethod`() async throws
    {
        try await withRelay(Self.engine, store: PlainStore(), policy: try Self.policy) { _, port in
            let bob = try await member("bob", at: port)
            try await bob.publish("one", counter: 1)
            let root = try await WirePeer.administrator("root", at: port)
            let rooms = try await root.list(.rooms) { try RoomOverview(parsing: $0.rawBytes) }
            #expect(rooms.map(\.room) == ["lobby"] && rooms[0].head == 1)
            let erase = try await root.administer(.erase, AdministrationQuery(account: "bob"))
            #expect(erase.status == .unknownMethod && erase.reason == "the store of the relay does not support it")
            let retention = AdministrationQuery(room: "lobby", maxCount: 1)
            #expect(try await root.administer(.retention, retention).status == .unknownMethod)
        }
    }

    //
    @Test func `revoke → the links of the account end with revoked`() async throws {
        try await withRelay(Self.engine, policy: try Self.policy) { _, port in
            let bob = try await member("bob", at: port)
            let root = try await WirePeer.administrator("root", at: port)
            #expect(try await root.administer(.revoke, AdministrationQuery(account: "bob")).status == .none)
            #expect(try await bob.finalNotice()?.code == .revoked)
        }
    }

    //
    @Test(arguments: [1, 3])
    func `announce → the text is in the room, or in all rooms in memory`(loopCount: Int) async throws {
        try await withRelay(Self.engine, loopCount: loopCount, policy: try Self.policy) { _, port in
            var peers: [WirePeer] = []
            for number in 0..<35 { peers.append(try await member("user \(number)", "room \(number)", at: port)) }
            let root = try await WirePeer.administrator("root", at: port)
            var count = 0
            var next: UInt64?
            repeat {
                let content = try await root.content(.announce, AdministrationQuery(text: "all", next: next))
                let page = try AdministrationPage(parsing: content.rawBytes)
                (count, next) = (count + Int(page.count ?? 0), page.next)
            } while next != nil
            #expect(count == 35)
            let one = try await root.content(.announce, AdministrationQuery(room: "room 3", text: "one"))
            #expect(try AdministrationPage(parsing: one.rawBytes).count == 1)
            for (number, peer) in peers.enumerated() {
                let message = try await peer.expect(Message.self)
                #expect(message.text == "all" && message.relay?.sender == "server")
                if number == 3 { #expect(try await peer.expect(Message.self).text == "one") }
            }
        }
    }

    //
    @Test func `announce and erase at a relay without an account of its own → refused`() async throws {
        try await withRelay(.withoutTimeouts, policy: try Self.policy) { _, port in
            let bob = try await member("bob", at: port)
            try await bob.publish("one", counter: 1)
            let root = try await WirePeer.administrator("root", at: port)
            #expect(try await root.administer(.announce, AdministrationQuery(text: "all")).status == .refused)
            #expect(try await root.administer(.announce, Self.complete).status == .refused)
            let answer = try await root.administer(.erase, Self.complete)
            #expect(answer.status == .refused && answer.reason == "the configuration names no account of the relay")
        }
    }

    //
    @Test(arguments: [1, 3])
    func `drain → the response, then the notice of the relay to everyone`(loopCount: Int) async throws {
        let log = EventLog()
        try await withRelay(Self.engine, loopCount: loopCount, policy: try Self.policy, onEvent: log.note) {
            relay, port in
            let bob = try await member("bob", at: port)
            let root = try await WirePeer.administrator("root", at: port)
            #expect(try await root.administer(.drain).status == .none)
            #expect(try await root.finalNotice()?.code == .draining)
            #expect(try await bob.finalNotice()?.code == .draining)
            #expect(await relay.impediments.contains(.draining))
        }
        let isNoted = log.notes.contains { if case .administered(let record) = $0 { record.isDrain } else { false } }
        #expect(isNoted)
    }

    // MARK: Messages

    //
    @Test func `erase → the messages of the account are erased for members and in history, those of others are not`()
        async throws
    {
        let log = EventLog()
        try await withRelay(Self.engine, policy: try Self.policy, onEvent: log.note) { _, port in
            let bob = try await member("bob", at: port)
            let alice = try await member("alice", at: port)
            for number in 1...70 { try await bob.publish("secret \(number)", counter: UInt64(number)) }
            try await alice.publish("mine", counter: 1)
            let root = try await WirePeer.administrator("root", at: port)
            let counts = try await root.erase("bob", in: "lobby")
            #expect(counts.reduce(0, +) == 70 && counts.max() == 32)
            let again = try await root.erase("bob", in: "lobby")
            #expect(again.reduce(0, +) == 0)
            let messages = try await root.export("lobby")
            #expect(messages.filter { $0.kind == .erased }.count == 70 && messages.count == 141)
            #expect(messages.filter { $0.relay?.sender == "bob" }.allSatisfy { $0.content.bytes.isEmpty })
            #expect(messages.compactMap(\.text) == ["mine"])
            var deletions = 0
            while deletions < 70 { if try await alice.next(Message.self).kind == .delete { deletions += 1 } }
            let carol = try await member("carol", at: port)
            for _ in 0..<70 { #expect(try await carol.expect(Message.self).kind == .erased) }
        }
        let records = log.all.compactMap { AuditRecord($0) }.filter { $0.method?.text == "admin.erase" }
        #expect(!records.isEmpty && records.allSatisfy { $0.target == "bob" && $0.room == "lobby" && $0.code == nil })
        #expect(!log.all.contains { AuditRecord($0)?.event == .roomOperation })
    }

    //
    @Test(arguments: [1, 3])
    func `erase without a room → the messages in all rooms of the store; a repetition erases nothing`(
        loopCount: Int
    ) async throws {
        let log = EventLog()
        let store = InMemoryStore()
        for number in 0..<5 {
            let room = RoomName("old \(number)")!
            _ = store.load(room)
            let author: AccountName = number == 2 ? "alice" : "bob"
            try store.append([LogEntry.text("old", counter: 1, by: author)], to: room)
        }
        try await withRelay(
            Self.engine, loopCount: loopCount, store: store, policy: try Self.policy, onEvent: log.note
        ) { relay, port in
            let bob = try await member("bob", at: port)
            for number in 1...40 { try await bob.publish("secret \(number)", counter: UInt64(number)) }
            // The relay stops after some steps of another series.
            let first = try await relay.eraseMessages(of: "bob")
            #expect(first.count == 32 && first.next == RelayPlace(rawValue: 32, room: "lobby"))
            let root = try await WirePeer.administrator("root", at: port)
            #expect(
                try await root.erase("bob") == ["lobby": 8, "old 0": 1, "old 1": 1, "old 3": 1, "old 4": 1])
            #expect(try await root.erase("bob") == [:])
            #expect(try await root.export("old 2").map(\.text) == ["old"])
            #expect(try await root.export("old 0").map(\.kind) == [.erased, .delete])
            // The counters of its devices remain, so that a message that is sent again is not published again.
            #expect(store.load("old 0").devices.keys.contains { $0.account == "bob" })
        }
        let records = log.all.compactMap { AuditRecord($0) }.filter { $0.method?.text == "admin.erase" }
        #expect(records.allSatisfy { $0.target == "bob" && $0.code == nil })
        #expect(Set(records.compactMap(\.room)).isSuperset(of: ["lobby", "old 0", "old 4"]))
        // The last step of a series is behind the last room.
        #expect(records.last?.room == "old 4")
    }

    // R-197, Specs/hostile.md row 120
    @Test func `more rooms than a step visits, without messages of the account → steps without a count`() async throws {
        let store = InMemoryStore()
        for number in 0..<1100 { _ = store.load(RoomName("room \(10_000 + number)")!) }
        try await withRelay(Self.engine, store: store, policy: try Self.policy) { relay, _ in
            let first = try await relay.eraseMessages(of: "bob")
            #expect(first == RelayStep(count: 0, next: RelayPlace(rawValue: 0, room: "room 11023")))
            #expect(try await relay.eraseMessages(of: "bob", from: first.next) == RelayStep(count: 0, next: nil))
        }
    }

    // R-199, Specs/hostile.md row 121
    @Test(arguments: [false, true])
    func `erase → the attachments of the account are removed, unless messages of others name them`(isInOneRoom: Bool)
        async throws
    {
        let attachments = InMemoryAttachmentStore()
        func upload(_ content: [UInt8], _ room: String = "lobby", by account: String = "bob") async throws
            -> AttachmentKey
        {
            let key = attachmentKey(content, room: room, account: account)
            _ = try await attachments.begin(key, byteCount: UInt64(content.count), mediaType: nil)
            _ = try await attachments.write([content], at: 0, of: key)
            return key
        }
        let (own, shared) = (try await upload([1, 2]), try await upload([3, 4]))
        let (others, elsewhere) = (try await upload([5], by: "alice"), try await upload([1, 2], "attic"))
        let store = InMemoryStore()
        for room in ["lobby", "attic"] as [RoomName] { _ = store.load(room) }
        try store.append(
            [
                try LogEntry.attachment(own.digest, counter: 1, by: "bob"),
                try LogEntry.attachment(shared.digest, counter: 2, by: "bob", at: 2),
                try LogEntry.attachment(shared.digest, counter: 1, by: "alice", at: 3),
            ], to: "lobby")
        try store.append([try LogEntry.attachment(elsewhere.digest, counter: 1, by: "bob")], to: "attic")
        try await withRelay(Self.engine, store: store, attachments: attachments, policy: try Self.policy) { _, port in
            let root = try await WirePeer.administrator("root", at: port)
            if isInOneRoom {
                _ = try await root.erase("bob", in: "lobby")
            } else {
                #expect(try await root.erase("bob") == ["attic": 1, "lobby": 2])
            }
        }
        func isKept(_ key: AttachmentKey) async -> Bool {
            (try? await attachments.info(key.digest, in: key.room)) != nil
        }
        #expect(await !isKept(own))
        #expect(await isKept(shared))
        #expect(await isKept(others))
        #expect(await isKept(elsewhere) == isInOneRoom)
    }

    //
    @Test func `export → the messages in pages of 15 KiB, and of a limit`() async throws {
        try await withRelay(Self.engine, policy: try Self.policy) { _, port in
            let bob = try await member("bob", at: port)
            for number in 1...30 {
                try await bob.publish(String(repeating: "x", count: 1000), counter: UInt64(number))
            }
            let root = try await WirePeer.administrator("root", at: port)
            let query = AdministrationQuery(room: "lobby")
            let content = try await root.content(.export, query)
            let page = try AdministrationPage(parsing: content.rawBytes)
            #expect((10..<15).contains(page.messages.count) && page.next == UInt64(page.messages.count))
            #expect(try await root.export("lobby").count == 30)
            #expect(try await root.export("lobby", limit: 4).map { $0.relay?.offset } == (1...30).map { $0 })
        }
    }

    // MARK: Swift

    @Test func `a relay that does not run → empty pages, and notRunning`() async throws {
        let relay = Relay(
            configuration: try .init(port: 0), store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        #expect(await relay.links().items.isEmpty)
        #expect(await relay.overview.linkCount == 0)
        await #expect(throws: RoomCommandError.notRunning) { try await relay.overview(of: "lobby") }
        await #expect(throws: RoomCommandError.notRunning) { try await relay.eraseMessages(of: "bob", in: "lobby") }
        await #expect(throws: RoomCommandError.notRunning) { try await relay.mute("bob", seconds: 1, in: "lobby") }
    }

    final class Handler: RequestHandler {
        private let seen = Guarded<[String]>([])
        var methods: [String] { seen.withLock { $0 } }

        func respond(to request: RelayRequest) async -> RequestAnswer {
            seen.withLock { $0.append(request.method.text) }
            return RequestAnswer(status: .none)
        }
    }

    final class ChangingPolicy: RoomPolicy {
        struct Failure: Error {}

        let current = Guarded<RoomDecision?>(.granted(.administer))

        func decision(on request: RoomAuthorizationRequest) async throws -> RoomDecision {
            #expect(request.room == .administration && request.identity.account == "root")
            guard let decision = current.withLock({ $0 }) else { throw Failure() }
            return decision
        }
    }
}

extension WirePeer {
    /// A peer with a session of its account.
    static func administrator(_ account: String, at port: UInt16) async throws -> WirePeer {
        let peer = try await WirePeer.connect(to: port)
        let features = Features.supported.union(.accountSession)
        try await peer.hello(
            Hello(
                spokenVersions: [.newest, .current], features: features, device: DeviceID(rawValue: 1),
                account: AccountName(account)!, agent: "test 1.0"))
        await peer.send(Open(room: RoomName(account)!, kind: .account, cursor: 0), on: .first)
        let _: Opened = try await peer.expect()
        return peer
    }

    static func request(_ method: MethodName, content: [UInt8]?) -> Request {
        Request(
            correlation: 1, method: method, deadline: .seconds(3600), recipient: nil, sender: nil, content: content)
    }

    func request(_ method: MethodName, content: [UInt8]?) async throws -> Response {
        await send(Self.request(method, content: content), on: .first)
        return try await next()
    }

    func request(_ method: AdministrationMethod, content: [UInt8]?) async throws -> Response {
        try await request(MethodName(method.rawValue)!, content: content)
    }

    func administer(
        _ method: AdministrationMethod, _ query: AdministrationQuery = AdministrationQuery()
    ) async throws -> Response {
        try await request(method, content: query.encode())
    }

    func content(
        _ method: AdministrationMethod, _ query: AdministrationQuery = AdministrationQuery()
    ) async throws -> [UInt8] {
        let response = try await administer(method, query)
        #expect(response.status == .none)
        return response.content ?? []
    }

    /// All items of a list.
    func list<Item>(
        _ method: AdministrationMethod, limit: UInt16? = nil, _ parse: ([UInt8]) throws -> Item
    ) async throws -> [Item] {
        var items: [Item] = []
        var query = AdministrationQuery(limit: limit)
        repeat {
            let content = try await content(method, query)
            let page = try AdministrationPage(parsing: content.rawBytes)
            #expect(page.items.count <= Int(min(limit ?? 32, 32)))
            for item in page.items { items.append(try parse(item)) }
            query = query.at(next: page.next, nextRoom: page.nextRoom, limit: query.limit)
        } while query.next != nil || query.nextRoom != nil
        return items
    }

    /// Erases all messages of an account in all rooms, and returns the number of each room.
    func erase(_ account: AccountName) async throws -> [RoomName: Int] {
        var counts: [RoomName: Int] = [:]
        var query = AdministrationQuery(account: account)
        repeat {
            let content = try await content(.erase, query)
            let page = try AdministrationPage(parsing: content.rawBytes)
            let room = page.nextRoom ?? query.nextRoom
            if let room, let count = page.count, count > 0 { counts[room, default: 0] += Int(count) }
            query = query.at(next: page.next, nextRoom: page.nextRoom, limit: query.limit)
        } while query.next != nil || query.nextRoom != nil
        return counts
    }

    /// Erases all messages of an account, and returns the number of each step.
    func erase(_ account: AccountName, in room: RoomName) async throws -> [Int] {
        var counts: [Int] = []
        var next: UInt64?
        repeat {
            let content = try await content(.erase, AdministrationQuery(room: room, account: account, next: next))
            let page = try AdministrationPage(parsing: content.rawBytes)
            counts.append(Int(page.count ?? 0))
            next = page.next
        } while next != nil
        return counts
    }

    func export(_ room: RoomName, limit: UInt16? = nil) async throws -> [Message] {
        var messages: [Message] = []
        var next: UInt64?
        repeat {
            let content = try await content(.export, AdministrationQuery(room: room, next: next, limit: limit))
            let page = try AdministrationPage(parsing: content.rawBytes)
            messages += try page.messages.map { try Message(parsing: $0.rawBytes) }
            next = page.next
        } while next != nil
        return messages
    }
}
