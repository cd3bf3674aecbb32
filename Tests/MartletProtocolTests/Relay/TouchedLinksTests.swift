import MartletWire
import Testing

@testable import MartletProtocol
@testable import MartletTestKit

@Suite struct TouchedLinksTests {
    @Test func `a group is full when so many were touched, and those that are kept do not count`() {
        var touched = TouchedLinks()
        for slot in 0..<TouchedLinks.groupCount - 1 { touched.append(slot) }
        #expect(!touched.isGroupFull && !touched.isEmpty)
        touched.append(100)
        #expect(touched.isGroupFull)
        let all = touched.takeAll()
        #expect(all == Array(0..<TouchedLinks.groupCount - 1) + [100] && touched.isEmpty)
        touched.keep(7)
        touched.keep(8)
        touched.giveBack(all)
        for slot in 0..<TouchedLinks.groupCount - 1 { touched.append(slot) }
        #expect(!touched.isGroupFull)
        touched.append(100)
        #expect(touched.isGroupFull && touched.takeAll().prefix(3) == [7, 8, 0])
    }

    /// What the engine wants done, without doing it, but for the store, which has stored at once.
    private func outputs(of engine: inout RelayEngine, now: Instant) -> [[ConnectionKey]] {
        var transmits: [[ConnectionKey]] = []
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .transmit(let keys): transmits.append(keys)
            case .append(let room, let entries):
                engine.stored(room, upTo: entries.last?.offset, messageCount: entries.count)
            default: break
            }
        }
        return transmits
    }

    @Test func `a large room's first members are asked before the last have been given the message`() {
        let stage = RelayStage()
        let peers = (0..<150).map { stage.member("member-\($0)", of: .lobby) }
        for peer in peers { peer.acknowledgeAll() }
        let body = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("to all"))
        let frame = peers[3].maker.frame(.data, body, on: .first)
        stage.act { engine, now in
            engine.receive(frame.rawBytes, on: peers[3].key, now: now)
            let transmits = outputs(of: &engine, now: now)
            #expect(transmits.count == 3 && transmits.allSatisfy { $0.count <= TouchedLinks.groupCount })
            #expect(Set(transmits.joined()) == Set(peers.map(\.key)) && transmits.joined().count == 150)
        }
    }

    //
    @Test func `who holds messages back gets them in the end, also in a large room`() {
        let stage = RelayStage()
        let peers = (0..<100).map { stage.member("member-\($0)", of: .lobby) }
        let text = String(repeating: "long ", count: 2_000)
        for peer in peers { peer.acknowledgeAll() }
        // One of them reads nothing while far more passes than may wait for it.
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
}
