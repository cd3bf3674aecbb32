import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

// R-48, Specs/hostile.md row 37
@Suite struct RelayEngineMemoryTests {
    /// Alice reads, and four devices of mallory do not, while bob publishes 200 messages. After the first 99 mallory's
    /// links may be cut; then carol, who does not read either, makes the queues exceed 1 MiB.
    private func hall(budget: Int, cutsMallory: Bool) -> (stage: RelayStage, alice: RawPeer, mallory: [RawPeer]) {
        let stage = RelayStage {
            $0.memoryBudget = budget
            $0.link.slowConsumerTimeout = .seconds(3600)
        }
        let alice = stage.member("alice", of: .lobby)
        let mallory = (1...4).map { stage.member("mallory", device: $0, of: .lobby) }
        for peer in mallory { peer.isReading = false }
        let bob = stage.member("bob", of: .lobby)
        for counter in 1...200 as ClosedRange<UInt64> {
            if counter == 100, cutsMallory {
                for peer in mallory { peer.cut() }
                stage.member("carol", of: .lobby).isReading = false
            }
            bob.text(String(repeating: "x", count: 2000), counter: counter)
            bob.acknowledgeAll()
            alice.acknowledgeAll()
            // The test ends before the relay ends the silent connections (S-29).
            stage.run(for: .milliseconds(10))
        }
        return (stage, alice, mallory)
    }

    @Test func `logs in memory are evicted before links`() {
        let whole = hall(budget: .max, cutsMallory: true)
        let tight = hall(budget: whole.stage.relay.engine.memoryByteCount - 100_000, cutsMallory: true)
        #expect(whole.stage.relay.engine.sessions.rooms.local.rooms.read(0, { $0.log.tail.count }) == 200)
        #expect(tight.stage.relay.engine.sessions.rooms.local.rooms.read(0, { $0.log.tail.count }) ?? 200 < 200)
        #expect(tight.stage.relay.engine.statistics.links == 7)
    }

    // Specs/hostile.md row 37
    @Test func `suspended links of the account that holds most end first, and no more than necessary`() {
        let (stage, alice, _) = hall(budget: 1 << 20, cutsMallory: true)
        let engine = stage.relay.engine.statistics
        #expect(engine.links < 7 && engine.suspendedLinks >= 1)
        #expect(stage.relayLink(of: alice, { $0.sessions.count }) == 1 && alice.closedAt == nil)
        #expect(stage.relay.engine.memoryByteCount <= 1 << 20)
    }

    @Test func `sessions of connected links of the account that holds most are reset with slowConsumer`() {
        let (stage, alice, mallory) = hall(budget: 700 << 10, cutsMallory: false)
        #expect(stage.relay.engine.statistics.links == 6)
        #expect(mallory.contains { stage.relayLink(of: $0, { link in link.sessions.isEmpty }) == true })
        #expect(stage.relayLink(of: alice, { $0.sessions.count }) == 1)
        #expect(stage.relay.engine.memoryByteCount <= 700 << 10)
        for peer in mallory where stage.relayLink(of: peer, { $0.sessions.isEmpty }) == true {
            peer.isReading = true
            peer.read()
            #expect(peer.log.last(Reset.self)?.code == .slowConsumer)
        }
    }

    @Test func `of four links of an account with equal memory, sessions of one are reset if that suffices`() {
        let (stage, _, mallory) = hall(budget: 850 << 10, cutsMallory: false)
        let resetCount = mallory.count { stage.relayLink(of: $0, { link in link.sessions.isEmpty }) == true }
        #expect(resetCount == 1)
    }

    @Test func `a full relay refuses connections, links and messages until memory is released`() throws {
        let stage = RelayStage { $0.memoryBudget = 40_000 }
        let alice = stage.member("alice", of: .lobby)
        let early = try #require(stage.connect())
        let crowd = (1...60).compactMap { _ in
            let peer = stage.connect()
            stage.settle()
            return peer
        }
        #expect(crowd.count < 60 && stage.connect() == nil)
        early.greet("bob")
        #expect(early.farewell == .serverBusy)
        while stage.connect() != nil { stage.settle() }
        alice.text("hello", counter: 1)
        #expect(alice.log.last(Reset.self)?.code == .serverBusy && stage.relay.log[.lobby] == nil)
        for peer in crowd { peer.cut() }
        stage.run(for: .seconds(1))
        alice.open(.lobby, on: .second)
        alice.text("hello", counter: 1, on: .second)
        #expect(stage.relay.log[.lobby]?.count == 1)
    }

    /// Eight accounts with 60 idle sessions each, in separate rooms.
    private func crowd(at stage: RelayStage) -> [RawPeer] {
        (1...8).map { number in
            let peer = stage.member("mallory-\(number)")
            for session in 0..<60 as Range<UInt16> {
                peer.open(RoomName("room-\(number)-\(session)")!, on: SessionID(rawValue: 2 * session + 1))
            }
            stage.run(for: .milliseconds(60))
            return peer
        }
    }

    // Specs/hostile.md row 48
    @Test func `links of the accounts with most idle sessions end, and others publish and connect`() {
        let stage = RelayStage { $0.memoryBudget = 300_000 }
        let alice = stage.member("alice", of: .lobby)
        let mallory = crowd(at: stage)
        #expect(mallory.contains { $0.farewell == .serverBusy })
        #expect(stage.relay.engine.memoryByteCount <= 300_000)
        alice.text("hello", counter: 1)
        #expect(alice.log.all(Reset.self).isEmpty && stage.relay.log[.lobby]?.count == 1)
        #expect(stage.connect() != nil)
    }

    // Specs/hostile.md row 48
    @Test func `one link with many sessions ends in a turn, and the eviction continues in the next turn`() {
        let stage = RelayStage()
        _ = crowd(at: stage)
        stage.relay.engine.sessions.memory = MemoryLedger(budget: stage.relay.engine.memoryByteCount / 2)
        var closedInTurn: [Int] = []
        repeat {
            stage.relay.engine.deadlinePassed(now: stage.now)
            var closed = 0
            while let output = stage.relay.engine.nextOutput(now: stage.now) {
                if case .link(.close) = output { closed += 1 }
            }
            closedInTurn.append(closed)
        } while stage.relay.engine.deadline == .zero
        #expect(closedInTurn.dropLast().allSatisfy { $0 == 1 } && closedInTurn.last == 0)
        #expect((4...6).contains(closedInTurn.count))
        #expect(stage.relay.engine.memoryByteCount <= stage.relay.engine.sessions.memory.budget)
    }

    // Specs/hostile.md row 48
    @Test func `a session with queued messages is not reset while other accounts hold more by idle ones`() {
        let stage = RelayStage { $0.memoryBudget = 300_000 }
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        for counter in 1...8 as ClosedRange<UInt64> {
            alice.text(String(repeating: "x", count: 500), counter: counter)
        }
        _ = crowd(at: stage)
        #expect(alice.log.all(Reset.self).isEmpty && bob.log.all(Reset.self).isEmpty)
        #expect(
            stage.relayLink(of: alice, { $0.sessions.count }) == 1
                && stage.relayLink(of: bob, { $0.sessions.count }) == 1)
        #expect(stage.relay.engine.memoryByteCount <= 300_000)
    }

    // Specs/hostile.md row 48
    @Test func `at the bound of rooms, links of the account with most sessions end`() {
        let stage = RelayStage()
        stage.relay.engine.sessions.rooms.local.maxRooms = 100
        let alice = stage.member("alice", of: .lobby)
        let mallory = crowd(at: stage)
        #expect(mallory.contains { $0.farewell == .serverBusy } && stage.relay.engine.statistics.rooms < 100)
        alice.open(.hall, on: .second)
        #expect(alice.log.all(Reset.self).isEmpty && alice.log.all(Opened.self).count == 2)
    }

    @Test func `an idle session counts with its room's name and its entries in tables`() {
        let stage = RelayStage()
        let peer = stage.member("mallory")
        for session in 0..<60 as Range<UInt16> {
            let id = SessionID(rawValue: 2 * session + 1)
            peer.open(RoomName(String(repeating: "x", count: 120) + "-\(session)")!, on: id)
            peer.acknowledge(1, on: id)
        }
        stage.run(for: .seconds(30))
        #expect((60 * 700...60 * 1400).contains(stage.relay.engine.memoryByteCount))
    }

    // Specs/hostile.md row 49
    @Test func `unsent bytes of carriers count, and connections of the account that holds most end`() {
        let stage = RelayStage { $0.memoryBudget = 300_000 }
        let alice = stage.member("alice", of: .lobby)
        let slow = (1...8).map { stage.member("mallory", device: $0, of: .lobby) }
        stage.act { engine, _ in engine.noteUnsent(5000, on: alice.key) }
        for peer in slow { stage.act { engine, _ in engine.noteUnsent(50_000, on: peer.key) } }
        stage.run(for: .seconds(1))
        #expect(slow.contains { $0.closedAt != nil } && alice.closedAt == nil)
        #expect(stage.relay.engine.memoryByteCount <= 300_000)
        #expect(stage.relayLink(of: alice, { $0.sessions.count }) == 1)
        for peer in slow where peer.closedAt == nil { stage.act { engine, _ in engine.noteUnsent(0, on: peer.key) } }
        #expect(stage.relay.engine.server.connections.byteCount == 5000)
    }

    @Test func `a suspended link queues a bounded number of bytes, and the rest follows after a resume`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        alice.acknowledgeAll()
        let welcome = try #require(alice.log.last(Welcome.self))
        let bob = stage.member("bob", of: .lobby)
        stage.run(for: .seconds(1))
        alice.cut()
        for counter in 1...400 as ClosedRange<UInt64> {
            bob.text(String(repeating: "x", count: 100), counter: counter)
            bob.acknowledgeAll()
        }
        let slots = stage.relay.engine.sessions.links.slots
        let slot = try #require(slots.first { stage.relay.engine.sessions.links[$0].suspendedAt != nil })
        let queued = stage.relay.engine.sessions.links[slot].link.queued(perFrame: RelayLink.entryByteCount)
        #expect(queued.byteCount <= RelayLink.suspendedHoldingByteCount + 1000)
        let again = try #require(stage.connect())
        #expect(again.resume("alice", from: welcome)?.resumed != nil)
        for _ in 0..<100 {
            again.acknowledge(UInt64(1 + again.log.all(Message.self).count))
            stage.run(for: .milliseconds(10))
        }
        #expect(again.log.all(Message.self).compactMap(\.relay?.offset) == Array(1...400))
    }

    @Test func `no memory is held after all links have ended`() {
        let (stage, alice, mallory) = hall(budget: .max, cutsMallory: true)
        #expect(stage.relay.engine.memoryByteCount > 1 << 20)
        _ = mallory
        for peer in stage.peers where peer.closedAt == nil { peer.cut() }
        stage.run(for: .seconds(700))
        #expect(alice.closedAt != nil && stage.relay.engine.statistics.links == 0)
        #expect(stage.relay.engine.memoryByteCount == 0)
    }

    // Specs/hostile.md row 38
    @Test func `frames behind gaps of all sessions, with objects, are bounded by the link's window`() throws {
        let stage = RelayStage()
        let peer = stage.member("mallory", of: .lobby)
        for number in 1..<60 as Range<UInt16> {
            let session = SessionID(rawValue: 2 * number + 1)
            peer.open(RoomName("room-\(number)")!, on: session)
            for sequence in 0..<100 as Range<UInt32> {
                peer.say(.receipt, [0, 0, 0, 0], on: session, flags: .reliable, sequence: 3 + 2 * sequence)
            }
        }
        let held = stage.link(of: peer) { link in
            link.link.sessions.liveSlots.map { link.link.sessions[$0].receive.heldFrameCount }
        }
        let count = try #require(held).reduce(0, +)
        let window = try #require(stage.link(of: peer, { $0.link.limits.linkWindow }))
        #expect(count > 1000 && count * ReceiveStream.heldFrameByteCount <= window)
    }

    // S-5
    @Test func `an opened of a client ends the connection before its bytes are kept`() {
        let stage = RelayStage()
        let peer = stage.member("mallory", of: .lobby)
        peer.say(.opened, [UInt8](repeating: 0, count: 100), on: .first, flags: [.reliable, .moreFragments])
        #expect(peer.farewell == .protocolViolation)
    }
}
