import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

@Suite struct DirtyLinksTests {
    @Test func `a group of 64 dirty links is full, and kept links do not count`() {
        var dirty = DirtyLinks()
        for slot in 0..<DirtyLinks.groupCount - 1 { dirty.append(slot) }
        #expect(!dirty.isGroupFull && !dirty.isEmpty)
        dirty.append(100)
        #expect(dirty.isGroupFull)
        let all = dirty.takeAll()
        #expect(all == Array(0..<DirtyLinks.groupCount - 1) + [100] && dirty.isEmpty)
        dirty.keep(7)
        dirty.keep(8)
        dirty.recycle(all)
        for slot in 0..<DirtyLinks.groupCount - 1 { dirty.append(slot) }
        #expect(!dirty.isGroupFull)
        dirty.append(100)
        #expect(dirty.isGroupFull && dirty.takeAll().prefix(3) == [7, 8, 0])
    }

    /// The connections of each transmit output. No output is performed except appends, which complete at once.
    private func outputs(of engine: inout RelayEngine, now: Instant) -> [[ConnectionKey]] {
        var transmits: [[ConnectionKey]] = []
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .link(.transmit(let keys)): transmits.append(keys)
            case .store(let questions):
                for case .append(let append) in questions {
                    let (end, count) = (append.entries.last?.offset, append.entries.count)
                    engine.answered(.append(append.room, upTo: end, messageCount: count, .success(1)), now: now)
                }
            default: break
            }
        }
        return transmits
    }

    @Test func `a message in a room of 150 members causes three groups of transmits`() {
        let stage = RelayStage()
        let peers = (0..<150).map { stage.member("member-\($0)", of: .lobby) }
        for peer in peers { peer.acknowledgeAll() }
        let body = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("to all"))
        let frame = peers[3].maker.frame(.data, body, on: .first)
        stage.act { engine, now in
            engine.receive(frame.rawBytes, on: peers[3].key, now: now)
            let transmits = outputs(of: &engine, now: now)
            #expect(transmits.count == 3 && transmits.allSatisfy { $0.count <= DirtyLinks.groupCount })
            #expect(Set(transmits.joined()) == Set(peers.map(\.key)) && transmits.joined().count == 150)
        }
    }

    //
    @Test func `a member of a large room that stops reading receives all messages later`() {
        let stage = RelayStage()
        let peers = (0..<100).map { stage.member("member-\($0)", of: .lobby) }
        let text = String(repeating: "long ", count: 2_000)
        for peer in peers { peer.acknowledgeAll() }
        // One member reads nothing while many more bytes are published than are queued for it.
        peers[9].isReading = false
        for counter in UInt64(1)...60 {
            peers[0].text(text, counter: counter)
            for peer in peers where peer !== peers[9] { peer.acknowledgeAll() }
        }
        peers[9].isReading = true
        peers[9].read()
        for _ in 1...60 { for peer in peers { peer.acknowledgeAll() } }
        for peer in peers {
            #expect(peer.log.frames.count { $0.header.type == .data } == 60)
            #expect(peer.closedAt == nil)
        }
    }

    // S-20, R-45
    @Test
    func `a link with held messages requests an acknowledgement at once`() {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        for peer in [alice, bob] { peer.acknowledgeAll() }
        bob.isReading = false
        var counter: UInt64 = 0
        for _ in 0..<40 {
            let bytes = (0..<100).flatMap { _ in
                counter += 1
                let body = Message.encodeClient(counter: counter, kind: .text, content: Message.textContent("short"))
                return alice.maker.frame(.data, body, on: .first)
            }
            alice.send(bytes)
            alice.acknowledgeAll()
        }
        bob.isReading = true
        bob.read()
        // Bob acknowledges at once on request, otherwise after half a window.
        let halfWindow = 128 * 1024
        var acknowledged = 0
        while true {
            let frames = bob.log.frames.filter { $0.header.session == .first && $0.header.flags.contains(.reliable) }
            let news = frames[acknowledged...]
            let isAsked = news.contains { $0.header.flags.contains(.ackNow) }
            guard isAsked || news.reduce(0, { $0 + $1.body.count }) >= halfWindow else { break }
            acknowledged = frames.count
            bob.acknowledge(UInt64(acknowledged))
        }
        #expect(bob.log.frames.count { $0.header.type == .data } == 4_000)
        bob.acknowledgeAll()
        alice.text("who keeps up is not asked", counter: counter + 1)
        #expect(bob.log.frames.last?.header.type == .data)
        #expect(bob.log.frames.last?.header.flags.contains(.ackNow) == false)
    }
}
