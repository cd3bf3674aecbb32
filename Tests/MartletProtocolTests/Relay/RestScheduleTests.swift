import MartletWire
import Testing

@testable import MartletProtocol
@testable import MartletTestKit

@Suite struct RestScheduleTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: 1) + .milliseconds(milliseconds) }

    private func isPacked(on stage: RelayStage) -> Bool { stage.relay.engine.links.isPacked(0) }

    @Test func `while nothing is awake nothing is due`() {
        var schedule = RestSchedule()
        schedule.update(wakefulCount: 0, now: at(0))
        #expect(schedule.deadline == nil && !schedule.isDue(now: at(1000)))
        schedule.update(wakefulCount: 1, now: at(0))
        #expect(!schedule.isDue(now: at(49)) && schedule.isDue(now: at(50)))
        // Nobody is woken for it before others have had time to.
        #expect(schedule.deadline == at(200))
        schedule.update(wakefulCount: 0, now: at(10))
        #expect(schedule.deadline == nil)
    }

    @Test func `looks that find nothing become rare, and frequent again with news`() {
        var schedule = RestSchedule()
        var now = at(0)
        schedule.update(wakefulCount: 3, now: now)
        var gaps: [Int64] = []
        for _ in 0..<10 {
            let due = (schedule.deadline ?? now) + (.zero - RestSchedule.patience)
            gaps.append((due - now).milliseconds)
            now = due
            schedule.looked(packedCount: 0, wakefulCount: 3, now: now)
            schedule.update(wakefulCount: 3, now: now)
        }
        #expect(gaps == [50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
        schedule.update(wakefulCount: 4, now: now)
        #expect(schedule.deadline == now + .milliseconds(50) + RestSchedule.patience)
        schedule.looked(packedCount: 1, wakefulCount: 3, now: now + .milliseconds(50))
        #expect(schedule.deadline == now + .milliseconds(100) + RestSchedule.patience)
        schedule.looked(packedCount: 3, wakefulCount: 0, now: now + .milliseconds(100))
        #expect(schedule.deadline == nil)
    }

    @Test func `links and rooms that say nothing take few bytes, and go on when something is said`() {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        for peer in [alice, bob] { peer.acknowledgeAll() }
        stage.run(for: .seconds(1))
        #expect(stage.relay.engine.links.wakefulCount == 0 && stage.relay.engine.rooms.wakefulCount == 0)
        for slot in 0..<2 {
            let byteCount = stage.relay.engine.links.packedByteCount(slot)
            #expect(byteCount.map { $0 <= 160 } == true)
        }
        #expect(MemoryLayout<RelayConnection>.size <= 80)
        alice.text("hello", counter: 1)
        #expect(bob.log.frames.last?.header.type == .data)
        #expect(stage.relay.engine.links.wakefulCount == 2 && stage.relay.engine.rooms.wakefulCount == 1)
    }

    @Test func `a ping is answered from rest, and rest follows`() {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.acknowledgeAll()
        stage.run(for: .seconds(1))
        for nonce in 1...3 {
            peer.say(Ping(nonce: UInt64(nonce)))
            #expect(peer.log.last(Pong.self)?.nonce == UInt64(nonce))
            stage.run(for: .seconds(30))
            #expect(stage.relay.engine.links.wakefulCount == 0 && stage.relay.engine.deadline != nil)
        }
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
                    $0.features = features
                    $0.compressesMessages = features.contains(.sharedDeflate)
                }
            }
            rooms = clients.map { client in
                world.act(client) { engine, now in engine.start(now: now) }
                return world.act(client) { engine, now in try! engine.open(RoomName("lobby")!, now: now) }
            }
            self.world = world
        }

        func say(_ text: String, from number: Int) throws {
            try world.send(text, from: clients[number], in: rooms[number])
        }

        /// Both clients', in both directions.
        var byteCount: UInt64 {
            clients.reduce(0) { $0 + $1.engine.counters.bytesSent + $1.engine.counters.bytesReceived }
        }

        var linksAreAtRest: Bool { world.relay.engine.links.wakefulCount == 0 }

        /// Those of links that are awake, and of connections.
        var framers: [FramerBox] {
            let relay = world.relay
            let ofLinks = relay.engine.links.slots.compactMap { slot in
                relay.engine.links.isPacked(slot) ? nil : relay.engine.links.find(slot)?.framer
            }
            return ofLinks + relay.engine.connections.slots.compactMap { relay.engine.connections[$0].framer }
        }
    }

    // W-84.
    @Test func `a link that sends packets rests with its framer, and goes on where it was`() throws {
        let chat = Chat()
        var costs: [UInt64] = []
        for round in 0..<12 {
            chat.world.run(for: .seconds(3))
            #expect(chat.linksAreAtRest && chat.framers.isEmpty)
            for slot in 0..<2 {
                let byteCount = chat.world.relay.engine.links.packedByteCount(slot)
                #expect(byteCount.map { $0 <= 256 } == true)
            }
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
        // What was said once is left out ever after: there is the text twice, a few bytes for each packet, and now and
        // then a ping.
        #expect(costs.dropFirst(3).allSatisfy { $0 == 87 || $0 == 121 })
    }

    @Test func `a framer stays as it is while its link is awake`() throws {
        let chat = Chat()
        chat.world.run(for: .seconds(3))
        try chat.say("one", from: 0)
        chat.world.run(for: .milliseconds(10))
        try chat.say("two", from: 0)
        chat.world.run(until: chat.world.now + .seconds(1)) { !chat.framers.isEmpty }
        let framer = try #require(chat.framers.first)
        chat.world.run(until: chat.world.now + .seconds(1)) { chat.world.relay.log[RoomName("lobby")!]?.count == 2 }
        #expect(chat.framers.contains { $0 === framer })
    }

    @Test func `a link that has rested begins anew on another connection`() throws {
        let chat = Chat()
        chat.world.run(for: .seconds(3))
        try chat.say("before", from: 0)
        chat.world.run(for: .seconds(3))
        #expect(chat.linksAreAtRest)
        chat.world.cut(chat.clients[1])
        try chat.say("while bob is away", from: 0)
        chat.world.run(for: .seconds(10))
        #expect(chat.linksAreAtRest && chat.clients[1].engine.status.resumes == 1)
        try chat.say("after", from: 0)
        chat.world.run(for: .seconds(3))
        #expect(chat.clients[1].texts(in: chat.rooms[1]) == ["before", "while bob is away", "after"])
    }

    // W-94.
    @Test func `a deflate stream keeps its link awake until it ends`() throws {
        let chat = Chat(.all)
        chat.world.run(for: .seconds(3))
        try chat.say("the bird that never lands was seen above the harbour again", from: 0)
        let end = chat.world.now + .seconds(55)
        #expect(!chat.world.run(until: end) { chat.linksAreAtRest })
        #expect(chat.world.run(until: end + .seconds(20)) { chat.linksAreAtRest })
        #expect(chat.framers.isEmpty)
        try chat.say("the bird that never lands has not been seen again", from: 0)
        chat.world.run(for: .seconds(3))
        #expect(chat.clients[1].texts(in: chat.rooms[1]).count == 2)
    }

    @Test func `part of a packet keeps a link awake until the rest comes`() throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        peer.greet("ada", features: .supported.union(.compact))
        peer.open(.lobby, on: .first)
        peer.acknowledgeAll()
        stage.run(for: .seconds(1))
        #expect(isPacked(on: stage))
        // A ping of nonce 7 at the time 0.
        var packet: [UInt8] = [5, 0x47, 0x04, 0, 0x19, 7]
        packet.append(bigEndian: CRC32.checksum(packet.rawBytes))
        peer.send(Array(packet[..<3]))
        stage.run(for: .seconds(5))
        #expect(!isPacked(on: stage) && stage.heldByteCount(peer) >= 3)
        peer.send(Array(packet[3...]))
        #expect(peer.log.last(Pong.self)?.nonce == 7)
        stage.run(for: .seconds(15))
        #expect(isPacked(on: stage) && stage.heldByteCount(peer) == 0)
        peer.send(Array(packet[..<3]))
        peer.finish()
        #expect(peer.closedAt != nil)
    }

    @Test func `a link at rest resumes, and is ended by who may end it`() throws {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.acknowledgeAll()
        let welcome = try #require(peer.log.last(Welcome.self))
        peer.cut()
        stage.run(for: .seconds(1))
        #expect(isPacked(on: stage) && stage.relay.engine.statistics.suspendedLinks == 1)
        let again = try #require(stage.connect())
        let resumed = again.resume("alice", from: welcome)
        #expect(resumed?.resumed != nil && stage.relay.engine.statistics.resumes == 1)
        stage.run(for: .seconds(1))
        #expect(isPacked(on: stage))
        stage.act { engine, now in engine.revoke(.named("alice"), now: now) }
        #expect(again.farewell == .revoked && stage.relay.engine.statistics.links == 0)
    }
}
