import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// A relay near its limits refuses new links and serves the existing ones.
//
@Suite struct NearLimitTests {
    private func expectRefusal(of account: String, at stage: RelayStage) throws {
        let count = stage.relay.engine.statistics.linksRefused
        let peer = stage.member(account)
        let notice = try #require(peer.log.last(Reject.self)?.notice)
        #expect(notice.code == .serverBusy && notice.retryAfter == .seconds(5))
        #expect(peer.closedAt != nil && stage.relay.engine.statistics.linksRefused == count + 1)
    }

    @Test func `beyond fifteen sixteenths of the connections a hello is rejected, and a link is resumed`() throws {
        let stage = RelayStage { $0.link.maxConnections = 16 }
        let alice = stage.member("alice", of: .lobby)
        let welcome = try #require(alice.log.last(Welcome.self))
        let bob = stage.member("bob", of: .lobby)
        for number in 0..<13 { #expect(stage.member("m\(number)").farewell == nil) }
        try expectRefusal(of: "late", at: stage)
        bob.text("hello", counter: 1)
        #expect(bob.accepted == [1] && alice.texts == ["hello"])
        alice.cut()
        #expect(stage.member("late").farewell == nil)
        let again = try #require(stage.connect())
        #expect(again.resume("alice", from: welcome)?.link == welcome.link)
        #expect(stage.relay.engine.statistics.connections == 16 && stage.connect() == nil)
    }

    @Test func `with little memory a hello is rejected, and messages are accepted`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        for number in 0..<30 { #expect(stage.member("m\(number)").farewell == nil) }
        let budget = stage.relay.engine.memoryByteCount * 10 / 9
        stage.relay.engine.sessions.memory = MemoryLedger(budget: budget)
        stage.relay.engine.sessions.memory.evicted(remaining: budget)
        try expectRefusal(of: "late", at: stage)
        alice.text("hello", counter: 1)
        #expect(alice.accepted == [1] && alice.resets == [])
    }

    @Test func `after four long turns a hello is rejected for a second, and messages are accepted`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        stage.act { engine, now in
            for turn in 0..<4 {
                engine.turnEnded(
                    begunAt: now + .milliseconds(600 * turn), now: now + .milliseconds(600 * (turn + 1)))
            }
        }
        try expectRefusal(of: "late", at: stage)
        alice.text("hello", counter: 1)
        #expect(alice.accepted == [1])
        stage.run(for: .milliseconds(4 * 600 + 1000))
        #expect(stage.member("late").farewell == nil)
    }
}
