import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

@Suite struct LinkTableTests {
    private static let lifetime = RelayConfiguration().link.resumeLifetime

    //
    @Test func `each suspended link ends after its own lifetime`() {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        for peer in [alice, bob] { peer.acknowledgeAll() }
        stage.run(for: .seconds(5))
        let began = stage.now
        alice.cut()
        #expect(stage.relay.engine.sessions.links.suspensionDeadline(lifetime: Self.lifetime) == began + Self.lifetime)
        stage.run(for: .seconds(10))
        bob.cut()
        #expect(stage.relay.engine.sessions.links.suspensionDeadline(lifetime: Self.lifetime) == began + Self.lifetime)
        stage.run(for: Self.lifetime + .seconds(-11))
        #expect(stage.relay.engine.statistics.suspendedLinks == 2)
        stage.run(for: .seconds(2))
        #expect(stage.relay.engine.statistics.links == 1)
        #expect(
            stage.relay.engine.sessions.links.suspensionDeadline(lifetime: Self.lifetime) == began + .seconds(10)
                + Self.lifetime)
        stage.run(for: .seconds(10))
        #expect(
            stage.relay.engine.statistics.links == 0
                && stage.relay.engine.sessions.links.suspensionDeadline(lifetime: Self.lifetime) == nil)
    }

    // S-59
    @Test func `the next link of an account continues with the allowance of the ended link`() throws {
        let stage = RelayStage()
        let first = stage.member("alice")
        let who = try #require(stage.link(of: first, { $0.who }))
        let found = stage.relay.engine.sessions.links.slot(of: who)
        let slot = try #require(found)
        try stage.relay.engine.sessions.links[slot].link.chargeUnproductive(100, now: stage.now)
        let second = stage.member("alice")
        let allowance = try #require(stage.link(of: second, { $0.link.unproductive }))
        #expect(first.farewell == .replaced)
        #expect(allowance.isEmptier(than: Link.unproductiveBucket))
    }

    //
    @Test func `a resumed link does not end, and its next suspension has the whole lifetime`() throws {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.acknowledgeAll()
        let welcome = try #require(peer.log.last(Welcome.self))
        peer.cut()
        stage.run(for: Self.lifetime + .seconds(-1))
        let again = try #require(stage.connect())
        let resumed = again.resume("alice", from: welcome)
        #expect(resumed?.resumed != nil && stage.relay.engine.sessions.links.suspensionCount == 0)
        stage.run(for: .seconds(30))
        #expect(stage.relay.engine.statistics.links == 1)
        let began = stage.now
        again.cut()
        #expect(stage.relay.engine.sessions.links.suspensionDeadline(lifetime: Self.lifetime) == began + Self.lifetime)
    }
}
