import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Commands of the application to rooms, over sockets.
@Suite struct RelayRoomsTests {
    private static let lobby = RoomName("lobby")
    private static let text = MessageContent(text: "closing at ten")

    private static var engine: RelayConfiguration {
        var engine = RelayConfiguration.withoutTimeouts
        engine.serverAccount = AccountName("server")
        return engine
    }

    private func member(_ account: String, at port: UInt16) async throws -> WirePeer {
        let peer = try await WirePeer.connect(to: port)
        try await peer.hello(FrameWriter.hello(account))
        try await peer.open()
        return peer
    }

    //
    @Test(arguments: [1, 2])
    func `publish → members receive the message, and rooms that nobody has opened store it`(loopCount: Int)
        async throws
    {
        let log = EventLog()
        try await withRelay(Self.engine, loopCount: loopCount, onEvent: log.note) { relay, port in
            let alice = try await member("alice", at: port)
            let cursor = try await relay.publish(Self.text, in: Self.lobby)
            let message = try await alice.expect(Message.self)
            #expect(message.text == "closing at ten" && message.relay?.sender.text == "server")
            #expect(message.relay?.offset == cursor.offset && cursor.log != nil)
            for number in 0..<8 {
                #expect(try await relay.publish(Self.text, in: RoomName("room \(number)")!).offset == 1)
            }
        }
        let records = log.all.compactMap { AuditRecord($0) }.filter { $0.operation == .announce }
        #expect(records.count == 9 && records.allSatisfy { $0.account?.text == "server" && $0.code == nil })
    }

    //
    @Test(arguments: [1, 2])
    func `remove → the sessions of the account are reset with kicked, and others continue`(loopCount: Int)
        async throws
    {
        try await withRelay(Self.engine, loopCount: loopCount) { relay, port in
            let alice = try await member("alice", at: port)
            let bob = try await member("bob", at: port)
            try await relay.remove(AccountName("bob"), from: Self.lobby)
            #expect(try await bob.expect(Reset.self).code == .kicked)
            try await relay.publish(Self.text, in: Self.lobby)
            #expect(try await alice.expect(Message.self).text == "closing at ten")
        }
    }

    //
    @Test(arguments: [1, 2])
    func `close without roles → all sessions are reset with kicked`(loopCount: Int) async throws {
        try await withRelay(Self.engine, loopCount: loopCount) { relay, port in
            let peers = [try await member("alice", at: port), try await member("bob", at: port)]
            try await relay.close(room: Self.lobby)
            for peer in peers { #expect(try await peer.expect(Reset.self).code == .kicked) }
        }
    }

    //
    @Test func `a command to a relay that has not started, or has stopped → notRunning`() async throws {
        let relay = Relay(
            configuration: try .init(port: 0), store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        await #expect(throws: RoomCommandError.notRunning) { try await relay.publish(Self.text, in: Self.lobby) }
        try relay.start()
        await relay.shutdown()
        await #expect(throws: RoomCommandError.notRunning) { try await relay.close(room: Self.lobby) }
    }

    //
    @Test func `a store that fails → storeUnavailable, and without a server account noServerAccount`() async throws {
        let store = BrokenStore()
        store.breaks(.load)
        try await withRelay(Self.engine, store: store) { relay, _ in
            await #expect(throws: RoomCommandError.storeUnavailable) {
                try await relay.publish(Self.text, in: Self.lobby)
            }
        }
        try await withRelay { relay, _ in
            await #expect(throws: RoomCommandError.noServerAccount) {
                try await relay.publish(Self.text, in: Self.lobby)
            }
        }
    }
}
