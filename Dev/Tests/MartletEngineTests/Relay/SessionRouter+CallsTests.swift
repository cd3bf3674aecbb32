import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Calls of the services of the application, at the engine.
@Suite struct SessionRouterCallsTests {
    private func request(_ correlation: UInt64, _ method: MethodName = .locate) -> Request {
        Request(correlation: correlation, method: method, deadline: .seconds(60))
    }

    //
    @Test func `requests of rooms and accounts beyond the bound → serverBusy, until one has its result`() throws {
        let stage = RelayStage {
            $0.maxRequests = 2
            $0.link.features.formUnion([.compact, .accountSession])
        }
        stage.relay.answersRequests = false
        let peer = try #require(stage.connect())
        peer.greet("alice", features: .supported.union([.compact, .accountSession]))
        peer.open(.lobby, on: .first)
        let account = SessionID(rawValue: 3)
        peer.say(Open(room: .named("alice"), kind: .account, cursor: 0), on: account)
        peer.say(request(1), on: .first)
        peer.say(request(2), on: account)
        #expect(peer.log.all(Response.self).isEmpty)
        peer.say(request(3), on: .first)
        peer.say(request(4), on: account)
        #expect(
            peer.log.all(Response.self) == [
                Response(correlation: 3, status: .serverBusy), Response(correlation: 4, status: .serverBusy),
            ])
        let first = try #require(stage.relay.requests.first)
        #expect(first.room == .lobby)
        stage.act { $0.completed(first.id, .answer(RequestAnswer(status: .refused)), now: $1) }
        #expect(peer.log.last(Response.self) == Response(correlation: 1, status: .refused))
        peer.say(request(5), on: account)
        #expect(stage.relay.requests.map(\.room) == [.lobby, nil, nil])
        #expect(peer.log.all(Response.self).count == 3)
    }

    // R-40, S-56
    @Test func `a cancelled request counts until its result, which has no effect`() throws {
        let stage = RelayStage { $0.maxRequests = 1 }
        stage.relay.answersRequests = false
        let peer = stage.member("alice", of: .lobby)
        peer.say(request(1), on: .first)
        peer.say(CancelRequest(correlation: 1), on: .first)
        peer.say(request(2), on: .first)
        #expect(peer.log.all(Response.self) == [Response(correlation: 2, status: .serverBusy)])
        let cancelled = try #require(stage.relay.requests.first)
        stage.act { $0.completed(cancelled.id, .answer(RequestAnswer(status: .none)), now: $1) }
        peer.say(request(3), on: .first)
        #expect(peer.log.all(Response.self).count == 1)
        #expect(stage.relay.requests.count == 2)
    }

    //
    @Test func `members and head are answered with the state of the room, also when the handler is busy`() throws {
        let retention = RoomRetention(maxCount: 7)
        let stage = RelayStage {
            $0.maxRequests = 0
            $0.retention = retention
        }
        let peer = stage.member("alice", of: .lobby)
        _ = stage.member("bob", of: .lobby)
        peer.text("one", counter: 1)
        peer.say(request(1, RelayMethod.members.name), on: .first)
        let members = try #require(peer.log.last(Response.self)?.content)
        #expect(try Opened(parsing: members.rawBytes).members == [.alice, .bob])
        peer.say(request(2, RelayMethod.head.name), on: .first)
        let head = try #require(peer.log.last(Response.self)?.content)
        #expect(try Opened(parsing: head.rawBytes).head == 1)
        #expect(try RoomRetention(parsing: head) == retention)
        #expect(stage.relay.requests.isEmpty)
    }

    //
    @Test func `a decision revoked before it expires is requested again once`() {
        var count = 0
        let stage = RelayStage { $0.asksRoomPolicy = true }
        stage.relay.policy = { _ in
            count += 1
            return .granted(.all, validFor: .seconds(5))
        }
        let peer = stage.member("alice", of: .lobby)
        #expect(count == 1)
        stage.run(for: .seconds(3))
        stage.relay.policyDelay = .seconds(4)
        stage.act { $0.revokeRoomDecisions(now: $1) }
        stage.run(for: .milliseconds(8500))
        #expect(count == 2)
        stage.run(for: .seconds(1))
        #expect(peer.log.last(Opened.self) != nil && peer.log.last(Reset.self) == nil)
    }
}
