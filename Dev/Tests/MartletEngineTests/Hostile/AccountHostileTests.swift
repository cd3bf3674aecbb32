import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Attacks on a relay by way of sessions of accounts.
@Suite
struct AccountHostileTests {
    private let features = Features.supported.union([.compact, .accountSession])

    private func peer(_ stage: RelayStage, _ account: String = "mallory") -> RawPeer {
        let peer = stage.connect()!
        peer.greet(account, features: features)
        peer.say(Open(room: .named(account), kind: .account, cursor: 0), on: .first)
        stage.run(for: .seconds(1))
        return peer
    }

    private func request(
        _ number: UInt64, _ operation: MembershipOperation = .join, _ peer: RawPeer, in room: RoomName = .lobby
    ) {
        peer.say(
            Request(
                correlation: number, method: operation.method.name, deadline: .seconds(60),
                content: operation.content(of: room)), on: .first)
    }

    // S-63, Specs/hostile.md row 77
    @Test("a message on the account's session ends the connection")
    func message() {
        let stage = RelayStage()
        let mallory = peer(stage)
        mallory.text("hello", counter: 1)
        #expect(mallory.farewell == .protocolViolation)
    }

    // R-120, Specs/hostile.md row 77
    @Test("a second session, and one under another account's name, are reset")
    func secondSession() {
        let stage = RelayStage()
        let mallory = peer(stage)
        mallory.say(Open(room: .named("mallory"), kind: .account, cursor: 0), on: .second)
        #expect(mallory.resets == [.alreadyOpen])
        let other = stage.connect()!
        other.greet("eve", features: features)
        other.say(Open(room: .named("mallory"), kind: .account, cursor: 0), on: .first)
        #expect(other.resets == [.forbidden])
    }

    //
    @Test("a session of an account where the feature does not hold is reset with unsupportedKind")
    func noFeature() {
        let stage = RelayStage()
        let mallory = stage.connect()!
        mallory.greet("mallory")
        mallory.say(Open(room: .named("mallory"), kind: .account, cursor: 0), on: .first)
        #expect(mallory.resets == [.unsupportedKind])
    }

    // R-128, S-65, Specs/hostile.md row 76
    @Test("requests beyond the account's rate are answered with tooManyRequests")
    func rate() {
        let stage = RelayStage()
        let mallory = peer(stage)
        for number in 1...80 {
            request(UInt64(number), .leave, mallory)
            mallory.acknowledgeAll()
        }
        let statuses = mallory.log.all(Response.self).map(\.status)
        #expect(statuses.count == 80 && statuses.prefix(64).allSatisfy { $0 == .none })
        #expect(statuses.last == .tooManyRequests)
        let refusals = mallory.log.all(Response.self).filter { $0.status == .tooManyRequests }
        #expect(refusals.allSatisfy { $0.retryAfter.map { $0 > .zero && $0 <= .milliseconds(160) } == true })
    }

    // Specs/hostile.md row 76
    @Test("a client that cancels its requests at once keeps no state, and the records of others are not affected")
    func cancels() {
        let stage = RelayStage()
        stage.relay.storeDelay = .seconds(1)
        let mallory = peer(stage)
        stage.run(for: .seconds(3))
        for number in 1...20 {
            request(UInt64(number), .join, mallory, in: .named("room \(number)"))
            mallory.say(CancelRequest(correlation: UInt64(number)), on: .first)
        }
        stage.run(for: .seconds(10))
        #expect(mallory.log.all(Response.self).isEmpty)
        #expect(stage.relay.engine.statistics.rooms == 0)
    }

    @Test("an account whose link ends during a join leaves nothing at the relay")
    func linkEnds() {
        let stage = RelayStage()
        stage.relay.storeDelay = .seconds(1)
        let mallory = peer(stage)
        stage.run(for: .seconds(3))
        request(1, .join, mallory)
        mallory.say(GoAway(Notice(code: .none)))
        stage.run(for: .seconds(400))
        #expect(stage.relay.engine.statistics.links == 0 && stage.relay.engine.statistics.rooms == 0)
        #expect(stage.relay.engine.sessions.accounts.count == 0)
        #expect(stage.relay.engine.sessions.rooms.local.watchers.isEmpty)
    }
}
