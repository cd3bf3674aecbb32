import MartletTransport
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletWire

/// Requests for the administration of a relay, over sockets.
@Suite(.timeLimit(.minutes(5))) struct RelayRequestsTests {
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
            var statuses: [ErrorCode] = []
            repeat {
                statuses.append(try await alice.administer(.accounts).status)
            } while statuses.count < 500
                && statuses.last == .forbidden
            #expect(statuses.last == .tooManyRequests && statuses.count >= AccountTable.operationsBurst / 16)
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

    func request(_ method: MethodName, content: [UInt8]?) async throws -> Response {
        let request = Request(
            correlation: 1, method: method, deadline: .seconds(3600), recipient: nil, sender: nil, content: content)
        await send(request, on: .first)
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
        var next: UInt64?
        repeat {
            let content = try await content(method, AdministrationQuery(next: next, limit: limit))
            let page = try AdministrationPage(parsing: content.rawBytes)
            #expect(page.items.count <= Int(min(limit ?? 32, 32)))
            for item in page.items { items.append(try parse(item)) }
            next = page.next
        } while next != nil
        return items
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
