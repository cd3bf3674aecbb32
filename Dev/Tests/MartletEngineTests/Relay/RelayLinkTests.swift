import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

@Suite struct RelayLinkTests {
    private func isIdle(_ stage: RelayStage) -> Bool {
        stage.relay.engine.isIdle
    }

    @Test func `idle links and rooms hold no memory of queues, and continue with the next message`() {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        for peer in [alice, bob] { peer.acknowledgeAll() }
        #expect(!isIdle(stage))
        stage.run(for: .seconds(3))
        #expect(isIdle(stage) && stage.relay.engine.sessions.rooms.local.rooms.read(0, { $0.isBusy }) == false)
        #expect(MemoryLayout<ServerConnection>.size <= 80)
        alice.text("hello", counter: 1)
        #expect(bob.log.frames.last?.header.type == .data)
        #expect(!isIdle(stage) && stage.relay.engine.sessions.rooms.local.rooms.read(0, { $0.isBusy }) == true)
    }

    @Test func `a ping to an idle link is answered and leaves no memory`() {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.acknowledgeAll()
        stage.run(for: .seconds(3))
        for nonce in 1...3 {
            peer.say(Ping(nonce: UInt64(nonce)))
            #expect(peer.log.last(Pong.self)?.nonce == UInt64(nonce))
            #expect(isIdle(stage) && stage.relay.engine.deadline != nil)
            stage.run(for: .seconds(30))
        }
    }

    @Test func `an idle link can be resumed and revoked`() throws {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.acknowledgeAll()
        let welcome = try #require(peer.log.last(Welcome.self))
        stage.run(for: .seconds(3))
        peer.cut()
        #expect(isIdle(stage) && stage.relay.engine.statistics.suspendedLinks == 1)
        let again = try #require(stage.connect())
        let resumed = again.resume("alice", from: welcome)
        #expect(resumed?.resumed != nil && stage.relay.engine.statistics.resumes == 1)
        stage.act { engine, now in engine.revoke(.named("alice"), now: now) }
        #expect(again.farewell == .revoked && stage.relay.engine.statistics.links == 0)
    }

    // MARK: Links that send packets

    private final class Chat {
        let world: VirtualWorld
        let clients: [VirtualClient]
        let rooms: [RoomID]

        init(_ features: Features = .supported.union(.compact)) {
            let world = VirtualWorld()
            clients = ["ada", "bob"].map { name in
                world.addClient(name) {
                    $0.link.features = features
                    $0.link.compressesMessages = features.contains(.sharedDeflate)
                }
            }
            rooms = clients.map { client in
                world.act(client) { engine, now in engine.handle(.start, now: now) }
                return world.act(client) { engine, now in try! engine.open(RoomName("lobby"), now: now) }
            }
            self.world = world
        }

        func say(_ text: String, from number: Int) throws {
            try world.send(text, from: clients[number], in: rooms[number])
        }

        /// The bytes of both clients in both directions.
        var byteCount: UInt64 {
            clients.reduce(0) { $0 + $1.engine.counters.bytesSent + $1.engine.counters.bytesReceived }
        }

        var isIdle: Bool { world.relay.engine.isIdle }

        /// The number of framers that connections keep.
        var framerCount: Int {
            let relay = world.relay
            return relay.engine.server.connections.slots.count {
                relay.engine.server.connections.find($0)?.framer != nil
            }
        }

        var streamCount: Int {
            let relay = world.relay
            return relay.engine.sessions.links.slots.count {
                relay.engine.sessions.links.read($0, { link in link.isInflating }) == true
            }
        }
    }

    // W-84.
    @Test func `an idle link with packets keeps no framer, and continues with its context`() throws {
        let chat = Chat()
        var costs: [UInt64] = []
        for round in 0..<12 {
            chat.world.run(for: .seconds(3))
            #expect(chat.isIdle && chat.framerCount == 0)
            let before = chat.byteCount
            try chat.say("text \(10 + round)", from: round % 2)
            chat.world.run(for: .seconds(1))
            costs.append(chat.byteCount - before)
        }
        let texts = (0..<12).map { "text \(10 + $0)" }
        for (client, room) in zip(chat.clients, chat.rooms) {
            let other = client === chat.clients[0] ? 1 : 0
            #expect(client.texts(in: room) == (0..<12).filter { $0 % 2 == other }.map { texts[$0] })
            #expect(client.engine.status.resumes == 0)
        }
        // Known values are omitted: a round costs the text twice, a few bytes for each packet, and sometimes a ping.
        #expect(costs.dropFirst(3).allSatisfy { $0 == 87 || $0 == 121 })
    }

    @Test func `an idle link continues on another connection with a new context`() throws {
        let chat = Chat()
        chat.world.run(for: .seconds(3))
        try chat.say("before", from: 0)
        chat.world.run(for: .seconds(3))
        #expect(chat.isIdle)
        chat.world.cut(chat.clients[1])
        try chat.say("while bob is away", from: 0)
        chat.world.run(for: .seconds(10))
        #expect(chat.isIdle && chat.clients[1].engine.status.resumes == 1)
        try chat.say("after", from: 0)
        chat.world.run(for: .seconds(3))
        #expect(chat.clients[1].texts(in: chat.rooms[1]) == ["before", "while bob is away", "after"])
    }

    // W-94.
    @Test func `a deflate stream is kept between frames until its lifetime ends`() throws {
        let chat = Chat(.all)
        chat.world.run(for: .seconds(3))
        try chat.say("the bird that never lands was seen above the harbour again", from: 0)
        chat.world.run(for: .seconds(55))
        #expect(chat.streamCount > 0 && chat.framerCount == 0)
        chat.world.run(for: .seconds(20))
        #expect(chat.streamCount == 0)
        try chat.say("the bird that never lands has not been seen again", from: 0)
        chat.world.run(for: .seconds(3))
        #expect(chat.clients[1].texts(in: chat.rooms[1]).count == 2)
    }

    @Test func `an incomplete packet is held by its connection until the rest arrives`() throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        peer.greet("ada", features: .supported.union(.compact))
        peer.open(.lobby, on: .first)
        peer.acknowledgeAll()
        stage.run(for: .seconds(1))
        // A ping of nonce 7 at the time 0.
        var packet: [UInt8] = [5, 0x47, 0x04, 0, 0x19, 7]
        packet.append(bigEndian: CRC32.checksum(packet.rawBytes))
        peer.send(Array(packet[..<3]))
        stage.run(for: .seconds(5))
        #expect(stage.heldByteCount(peer) >= 3)
        peer.send(Array(packet[3...]))
        #expect(peer.log.last(Pong.self)?.nonce == 7)
        #expect(stage.heldByteCount(peer) == 0)
        peer.send(Array(packet[..<3]))
        peer.finish()
        #expect(peer.closedAt != nil)
    }
}

extension RelayEngine {
    /// Whether no link holds memory that only a busy one needs.
    fileprivate var isIdle: Bool {
        sessions.links.slots.allSatisfy {
            guard sessions.links.isLive($0) else { return true }
            return !sessions.links[$0].link.hasIdleMemory && !sessions.relayLinks[$0].hasIdleMemory
        }
    }
}
