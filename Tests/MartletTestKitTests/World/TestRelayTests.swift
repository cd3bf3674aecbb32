import Martlet
import MartletRelay
import MartletTestKit
import Testing

@Suite("A test relay")
struct TestRelayTests {
    private let world = TestWorld(seed: 5)

    @Test("a relay that is killed keeps what it has accepted, and its clients return", arguments: [1, 3])
    func killed(loopCount: Int) throws {
        let texts = try world.run {
            let relay = try world.startRelay { $0.loopCount = loopCount }
            let (alice, bob) = (try await world.device("alice").start(), try await world.device("bob").start())
            let (room, other) = (try await alice.open(room: "lobby"), try await bob.open(room: "lobby"))
            _ = try await room.send("before").accepted()
            await relay.kill()
            let handle = try await room.send("while the relay is down")
            try relay.restart()
            _ = try await handle.accepted()
            var texts: [String?] = []
            for try await message in other.messages.prefix(2) { texts.append(message.text) }
            return texts
        }
        #expect(texts == ["before", "while the relay is down"])
    }

    // C-117, C-124
    @Test("clients over WebSockets of a relay that is killed -> the same messages")
    func webSockets() throws {
        let texts = try world.run {
            let relay = try world.startRelay { $0.loopCount = 2 }
            let address = "ws://10.0.0.1:7227"
            let alice = try await world.device("alice", relay: address).start()
            let bob = try await world.device("bob").start()
            let (room, other) = (try await alice.open(room: "lobby"), try await bob.open(room: "lobby"))
            _ = try await room.send("before").accepted()
            await relay.kill()
            let handle = try await room.send("while the relay is down")
            try relay.restart()
            _ = try await handle.accepted()
            var texts: [String?] = []
            for try await message in other.messages.prefix(2) { texts.append(message.text) }
            return texts
        }
        #expect(texts == ["before", "while the relay is down"])
    }

    //
    @Test("a deleted message is erased in the store of the world")
    func erased() throws {
        let kinds = try world.run {
            try world.startRelay(store: InMemoryStore())
            let client = try await world.device("alice").start()
            let room = try await client.open(room: "lobby")
            let message = try await room.send("secret")
            _ = try await message.accepted()
            _ = try await room.delete(message).accepted()
            return try await room.messages(before: nil, limit: 10).messages.map(\.kind)
        }
        #expect(kinds == [.erased, .delete])
    }

    @Test("an asynchronous store and authenticator that take virtual time serve a client")
    func slowParts() throws {
        let world = world
        let (elapsed, text) = try world.run {
            try world.startRelay(store: SlowStore(world), authenticator: SlowAuthenticator(world: world))
            let (alice, bob) = (try await world.device("alice").start(), try await world.device("bob").start())
            let (room, other) = (try await alice.open(room: "lobby"), try await bob.open(room: "lobby"))
            let begin = world.time
            _ = try await room.send("slow").accepted()
            let elapsed = world.time - begin
            return (elapsed, try await other.messages.first { _ in true }?.text)
        }
        #expect(elapsed >= .seconds(2))
        #expect(text == "slow")
    }

    @Test("a relay that is stopped notifies its clients, which return after its restart")
    func stopped() throws {
        let code = try world.run {
            let relay = try world.startRelay()
            let client = try await world.device("alice").start()
            _ = try await client.open(room: "lobby")
            async let notified: ErrorCode? = {
                for await status in client.status where status.lastCode != nil { return status.lastCode }
                return nil
            }()
            await relay.stop()
            let code = await notified
            try relay.restart()
            for await status in client.status where status.isOnline { break }
            return code
        }
        #expect(code == .draining)
    }

    @Test("a second relay at an address is refused")
    func addressInUse() throws {
        try world.run {
            try world.startRelay()
            #expect(throws: RelayError.self) { try world.startRelay() }
            try world.startRelay(at: "martlet://10.0.0.2:7227")
        }
    }
}

/// An authenticator that takes a second.
private struct SlowAuthenticator: Authenticator {
    let world: TestWorld

    func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
        try await world.sleep(for: .seconds(1))
        return Identity(request.account)
    }
}

/// A store whose calls take a second each.
private final class SlowStore: AsyncRoomStore {
    private let world: TestWorld
    private let base = InMemoryStore()

    init(_ world: TestWorld) {
        self.world = world
    }

    func load(_ room: RoomName) async throws -> RoomSnapshot {
        try await world.sleep(for: .seconds(1))
        return base.load(room)
    }

    func append(_ append: RoomAppend) async throws -> UInt64 {
        try await world.sleep(for: .seconds(2))
        return try base.append(append.entries, to: append.room)
    }

    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
        try await world.sleep(for: .seconds(1))
        return base.read(range, of: room)
    }
}
