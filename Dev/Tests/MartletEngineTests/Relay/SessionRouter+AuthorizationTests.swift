import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Decisions of a room policy, at the engine.
@Suite struct SessionRouterAuthorizationTests {
    private func stage(_ decision: @escaping (RoomAuthorizationRequest) -> RoomDecision?) -> RelayStage {
        let stage = RelayStage { $0.asksRoomPolicy = true }
        stage.relay.policy = decision
        return stage
    }

    private func decide(_ decision: RoomDecision?) -> RelayStage { stage { _ in decision } }

    private func refusals(_ peer: RawPeer) -> [Receipt.Refusal] {
        peer.log.all(Receipt.self).compactMap { if case .refused(let refusal) = $0 { refusal } else { nil } }
    }

    // MARK: Open

    //
    @Test func `an account that may not enter is reset with roomForbidden, and the link continues`() {
        let stage = decide(.refused)
        let peer = stage.member("alice", of: .lobby)
        #expect(peer.log.all(Reset.self).map(\.code) == [.roomForbidden])
        #expect(peer.log.last(Opened.self) == nil)
        #expect(peer.closedAt == nil)
        #expect(
            stage.relay.notes.last == .roomRefused(DeviceKey(account: .alice, device: DeviceID(rawValue: 1)), .lobby))
    }

    //
    @Test func `the policy is asked about the account, its device and the room`() {
        var asked: [RoomAuthorizationRequest] = []
        let stage = stage {
            asked.append($0)
            return .granted(.all)
        }
        let peer = stage.member("alice", device: 7, of: .lobby)
        #expect(peer.log.last(Opened.self) != nil)
        #expect(
            asked == [
                RoomAuthorizationRequest(identity: Identity(.alice), device: DeviceID(rawValue: 7), room: .lobby)
            ])
    }

    //
    @Test func `a session that its room resets leaves no decision to expire`() {
        let stage = decide(.granted(.all, validFor: .seconds(60)))
        let peer = stage.member("alice", of: .lobby)
        #expect(stage.relay.engine.sessions.authorizations.deadline != nil)
        stage.act { engine, now in
            engine.answered(.append(.lobby, upTo: nil, messageCount: 0, .failure(.logLost)), now: now)
        }
        #expect(peer.log.all(Reset.self).count == 1)
        #expect(stage.relay.engine.sessions.authorizations.deadline == nil)
    }

    //
    @Test func `messages that precede a slow decision are kept and published after it`() {
        let stage = decide(.granted(.all))
        stage.relay.policyDelay = .seconds(2)
        let peer = stage.member("alice", of: .lobby)
        peer.text("one", counter: 1)
        peer.text("two", counter: 2)
        #expect(peer.log.last(Opened.self) == nil)
        stage.run(for: .seconds(2))
        #expect(peer.log.last(Opened.self) != nil)
        #expect(stage.relay.log[.lobby]?.map(\.counter) == [1, 2])
    }

    //
    @Test func `messages that precede a refusal are not published`() {
        let stage = decide(.refused)
        stage.relay.policyDelay = .seconds(2)
        let peer = stage.member("alice", of: .lobby)
        peer.text("one", counter: 1)
        stage.run(for: .seconds(2))
        #expect(stage.relay.log[.lobby] == nil)
        #expect(peer.log.all(Reset.self).map(\.code) == [.roomForbidden])
    }

    //
    @Test func `a policy that fails resets the session with serverBusy`() {
        let peer = decide(nil).member("alice", of: .lobby)
        #expect(peer.log.all(Reset.self).map(\.code) == [.serverBusy])
    }

    //
    @Test func `a policy that does not answer in time resets the session with serverBusy, and its answer is ignored`() {
        let stage = decide(.granted(.all))
        stage.relay.policyDelay = .seconds(11)
        let peer = stage.member("alice", of: .lobby)
        stage.run(for: .milliseconds(9999))
        #expect(peer.log.last(Reset.self) == nil && stage.relay.overdueRooms.isEmpty)
        stage.run(for: .milliseconds(1))
        #expect(peer.log.all(Reset.self).map(\.code) == [.serverBusy])
        #expect(stage.relay.overdueRooms == [.lobby])
        stage.run(for: .seconds(5))
        #expect(peer.log.last(Opened.self) == nil)
    }

    //
    @Test func `the answer about an ended session does not admit another session of the same number`() {
        var decisions: [RoomDecision] = [.granted(.all), .refused]
        let stage = stage { _ in decisions.removeFirst() }
        stage.relay.policyDelay = .seconds(2)
        let peer = stage.member("alice", of: .lobby)
        stage.run(for: .seconds(1))
        peer.cut()
        let again = stage.member("alice", of: .lobby)
        stage.run(for: .seconds(1))
        #expect(again.log.last(Opened.self) == nil)
        stage.run(for: .seconds(1))
        #expect(again.log.all(Reset.self).map(\.code) == [.roomForbidden])
    }

    // MARK: Permissions

    //
    @Test func `without publish a message is refused with forbidden, and typing is not forwarded`() {
        let stage = stage { .granted($0.identity.account == .alice ? [.readHistory, .request] : .all) }
        let bob = stage.member("bob", of: .lobby)
        let alice = stage.member("alice", of: .lobby)
        alice.text("hello", counter: 5)
        alice.say(Transient(.typing(true)), on: .first)
        #expect(refusals(alice) == [Receipt.Refusal(counter: 5, code: .forbidden)])
        #expect(stage.relay.log[.lobby] == nil)
        #expect(!bob.log.all(Transient.self).contains { $0.content == .typing(true) })
        bob.text("welcome", counter: 1)
        #expect(stage.relay.log[.lobby]?.count == 1)
        #expect(alice.log.all(Message.self).map(\.text) == ["welcome"])
    }

    //
    @Test func `a message that was taken before is published again without publish → accepted, later ones refused`() {
        var permissions = RoomPermissions.all
        let stage = stage { _ in .granted(permissions) }
        _ = stage.member("bob", of: .lobby)
        let alice = stage.member("alice", of: .lobby)
        alice.text("hello", counter: 5)
        alice.cut()
        permissions = [.readHistory]
        let again = stage.member("alice", of: .lobby)
        again.text("hello", counter: 5)
        again.text("world", counter: 6)
        let accepted = again.log.all(Accepted.self).flatMap(\.runs)
        #expect(accepted == [AcceptedRun(firstCounter: 5, count: 1, firstOffset: 1)])
        #expect(refusals(again) == [Receipt.Refusal(counter: 6, code: .forbidden)])
        #expect(stage.relay.log[.lobby]?.map(\.counter) == [5])
    }

    //
    @Test func `without history a gap replaces the messages before the session, and new ones follow`() {
        let stage = stage { .granted($0.identity.account == .alice ? [.publish] : .all) }
        let bob = stage.member("bob", of: .lobby)
        for counter in 1...3 as ClosedRange<UInt64> { bob.text("old", counter: counter) }
        let alice = stage.member("alice", of: .lobby)
        bob.text("new", counter: 4)
        #expect(alice.log.last(Gap.self)?.offsets == 1...3)
        #expect(alice.log.all(Message.self).map(\.text) == ["new"])
    }

    //
    @Test func `without request a request is answered with forbidden`() {
        let stage = decide(.granted([.publish, .readHistory]))
        let peer = stage.member("alice", of: .lobby)
        peer.say(
            Request(correlation: 7, method: .locate, deadline: .seconds(5), recipient: nil, sender: nil, content: nil),
            on: .first)
        #expect(peer.log.last(Response.self) == Response(correlation: 7, status: .forbidden))
        #expect(stage.relay.requests.isEmpty)
    }

    // MARK: Expiry

    //
    @Test func `an expired decision is requested again, and remains in effect meanwhile`() {
        var decisions: [RoomDecision] = [.granted(.all, validFor: .seconds(5)), .refused]
        let stage = stage { _ in decisions.removeFirst() }
        stage.relay.policyDelay = .seconds(1)
        let peer = stage.member("alice", of: .lobby)
        stage.run(for: .seconds(1))
        #expect(peer.log.last(Opened.self) != nil)
        stage.run(for: .milliseconds(5500))
        peer.text("still permitted", counter: 1)
        #expect(stage.relay.log[.lobby]?.count == 1)
        #expect(peer.log.last(Reset.self) == nil)
        stage.run(for: .milliseconds(500))
        #expect(peer.log.all(Reset.self).map(\.code) == [.roomForbidden])
    }

    //
    @Test func `revoked decisions of the given room and account only are requested again`() {
        var asked: [RoomAuthorizationRequest] = []
        let stage = stage {
            asked.append($0)
            return .granted(.all)
        }
        let alice = stage.member("alice", of: .lobby)
        alice.open(.named("kitchen"), on: SessionID(rawValue: 3))
        _ = stage.member("bob", of: .lobby)
        asked = []
        stage.act { $0.revokeRoomDecisions(of: .alice, in: .lobby, now: $1) }
        #expect(asked.map(\.identity.account) == [.alice])
        #expect(asked.map(\.room) == [.lobby])
        asked = []
        stage.act { $0.revokeRoomDecisions(in: .lobby, now: $1) }
        #expect(asked.map(\.identity.account) == [.alice, .bob])
        asked = []
        stage.act { $0.revokeRoomDecisions(of: .alice, now: $1) }
        #expect(asked.map(\.room) == [.lobby, .named("kitchen")])
    }

    //
    @Test func `a decision revoked while its question is in flight is requested again`() {
        var decisions: [RoomDecision] = [.granted(.all), .refused]
        let stage = stage { _ in decisions.removeFirst() }
        stage.relay.policyDelay = .seconds(2)
        let peer = stage.member("alice", of: .lobby)
        stage.run(for: .seconds(1))
        stage.act { $0.revokeRoomDecisions(now: $1) }
        stage.run(for: .seconds(1))
        #expect(peer.log.last(Opened.self) == nil)
        stage.run(for: .seconds(1))
        #expect(peer.log.all(Reset.self).map(\.code) == [.roomForbidden])
    }

    //
    @Test func `a withdrawn permission ends publishing and leaves the session open`() {
        var permissions = RoomPermissions.all
        let stage = stage { _ in .granted(permissions) }
        let peer = stage.member("alice", of: .lobby)
        peer.text("one", counter: 1)
        permissions = [.readHistory]
        stage.act { $0.revokeRoomDecisions(now: $1) }
        peer.text("two", counter: 2)
        #expect(refusals(peer).map(\.counter) == [2])
        #expect(stage.relay.log[.lobby]?.map(\.counter) == [1])
        #expect(peer.log.last(Reset.self) == nil)
    }

    /// A member whose link has resumed under other claims, about which the policy decides after a second.
    private func resumed(_ stage: RelayStage) -> RawPeer? {
        stage.relay.claims = Claims(roles: ["writer"])
        let peer = stage.member("alice", of: .lobby)
        guard let welcome = peer.log.last(Welcome.self), let again = stage.connect() else { return nil }
        peer.cut()
        stage.relay.claims = Claims()
        stage.relay.policyDelay = .seconds(1)
        again.maker = peer.maker
        return again.resume("alice", from: welcome)?.resumed == nil ? nil : again
    }

    private func writersOnly() -> RelayStage {
        stage { .granted($0.identity.claims.roles == ["writer"] ? .all : [.readHistory]) }
    }

    // C-18
    @Test func `frames behind a resume under other claims -> decided by the decision about these claims`() throws {
        let stage = writersOnly()
        let peer = try #require(resumed(stage))
        peer.text("forged", counter: 1)
        peer.say(Request(correlation: 7, method: .locate, deadline: .seconds(5)), on: .first)
        #expect(stage.relay.log[.lobby] == nil && peer.log.last(Response.self) == nil)
        stage.run(for: .seconds(1))
        #expect(stage.relay.log[.lobby] == nil && stage.relay.requests.isEmpty)
        #expect(refusals(peer) == [Receipt.Refusal(counter: 1, code: .forbidden)])
        #expect(peer.log.last(Response.self) == Response(correlation: 7, status: .forbidden))
        #expect(peer.log.last(Reset.self) == nil)
    }

    //
    @Test func `frames behind a resume under claims that permit them -> performed, then the close`() throws {
        let stage = decide(.granted(.all))
        let peer = try #require(resumed(stage))
        peer.text("one", counter: 1)
        peer.text("two", counter: 2)
        peer.say(Close(), on: .first)
        #expect(stage.relay.log[.lobby] == nil)
        stage.run(for: .seconds(1))
        #expect(stage.relay.log[.lobby]?.map(\.counter) == [1, 2])
        #expect(peer.log.last(Close.self) != nil)
        #expect(stage.relay.engine.sessions.authorizations.deadline == nil)
    }

    //
    @Test func `claims that do not permit to enter -> the frames behind the resume have no effect`() throws {
        let stage = stage { $0.identity.claims.roles == ["writer"] ? .granted(.all) : .refused }
        let peer = try #require(resumed(stage))
        peer.text("forged", counter: 1)
        stage.run(for: .seconds(1))
        #expect(stage.relay.log[.lobby] == nil)
        #expect(peer.log.all(Reset.self).map(\.code) == [.roomForbidden])
    }

    //
    @Test func `a fault in a frame that waits for a decision -> the connection ends after it`() throws {
        let stage = decide(.granted(.all))
        let peer = try #require(resumed(stage))
        peer.say(.request, [UInt8](repeating: 0xFF, count: 40), on: .first)
        #expect(peer.farewell == nil)
        stage.run(for: .seconds(1))
        #expect(peer.farewell == .malformedTLV)
    }

    //
    @Test func `no question is left when every session has ended`() {
        let stage = decide(.granted(.all, validFor: .seconds(3)))
        stage.relay.policyDelay = .seconds(1)
        let peer = stage.member("alice", of: .lobby)
        stage.run(for: .seconds(2))
        stage.act { $0.revoke(.alice, now: $1) }
        stage.run(for: .seconds(20))
        #expect(stage.relay.engine.sessions.authorizations.deadline == nil)
        #expect(stage.relay.engine.sessions.calls.deadline == nil)
        var check = QuiescenceCheck("relay")
        stage.relay.engine.sessions.calls.check(&check)
        #expect(check.faults.isEmpty)
        _ = peer
    }
}
