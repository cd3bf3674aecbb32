import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Sessions that open and close on rooms.
@Suite struct SessionRouterOpeningTests {
    // S-7, R-14, R-49
    @Test func `a close right behind messages is answered when they have been accepted`() {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        stage.relay.storeDelay = .milliseconds(50)
        for counter in UInt64(1)...5 { alice.text("line \(counter)", counter: counter) }
        alice.say(Close(code: nil, reason: nil), on: .first)
        alice.open(.lobby, on: .second)
        stage.run(for: .seconds(1))
        let types = alice.log.frames.filter { $0.header.session == .first && $0.header.flags.contains(.reliable) }
        // The first message starts an append at once; the other four form the next batch.
        #expect(types.map(\.type) == [.opened, .accepted, .accepted, .close])
        #expect(
            alice.log.all(Accepted.self).flatMap(\.runs) == [
                AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1),
                AcceptedRun(firstCounter: 2, count: 4, firstOffset: 2),
            ])
        #expect(alice.log.all(Opened.self).map(\.members) == [[.alice], [.alice]])
        #expect(stage.relay.engine.statistics.rooms == 1)
        alice.say(Close(code: nil, reason: nil), on: .second)
        stage.run(for: .seconds(1))
        #expect(stage.relay.engine.statistics.rooms == 0)
    }

    //
    @Test func `frames without credit beyond 64 KiB before a room is loaded reset their session`() {
        let stage = RelayStage()
        stage.relay.storeDelay = .seconds(5)
        let peer = stage.member("alice", of: .lobby)
        let reason = String(repeating: "x", count: 200)
        let receipt = Receipt.refused(Receipt.Refusal(counter: 1, code: .forbidden, reason: reason))
        for _ in 0..<RelayLink.maxHeldByteCount / (receipt.encode().count + HeldFrames.overheadByteCount) {
            peer.say(receipt, on: .first)
        }
        #expect(peer.log.last(Reset.self) == nil)
        peer.say(receipt, on: .first)
        #expect(peer.log.last(Reset.self)?.code == .serverBusy)
    }

    //
    @Test func `a connection that is lost before the admission → the member is away`() {
        let stage = RelayStage { $0.asksRoomPolicy = true }
        let alice = stage.member("alice", of: .lobby)
        stage.relay.policyDelay = .seconds(1)
        let bob = stage.member("bob", of: .lobby)
        bob.cut()
        stage.run(for: .seconds(2))
        let presences = alice.log.all(Transient.self).filter { $0.sender == .bob }.map(\.content)
        #expect(presences == [.presence(.away)])
    }

    // R-37, S-52
    @Test func `40 accounts are away → a new member that reads late is sent each, and few frames wait`() throws {
        let stage = RelayStage()
        let others = (1...40).map { stage.member("member-\($0)", of: .lobby) }
        for peer in others { peer.cut() }
        stage.run(for: .seconds(5))
        let alice = stage.member("alice")
        alice.isReading = false
        alice.open(.lobby, on: .first)
        stage.run(for: .seconds(1))
        let transientCount = try #require(stage.link(of: alice, { $0.link.transientCount(on: .first) }))
        #expect((1..<Session.maxTransients).contains(transientCount))
        #expect(stage.relayLink(of: alice, { $0.hasPending }) == true)
        alice.isReading = true
        alice.read()
        stage.run(for: .seconds(1))
        let frames = alice.log.frames.filter { $0.header.session == .first }
        #expect(frames.first?.type == .opened)
        let presences = alice.log.all(Transient.self)
        #expect(presences.count == 40 && presences.allSatisfy { $0.content == .presence(.away) })
        #expect(Set(presences.compactMap(\.sender)).count == 40)
        #expect(stage.relayLink(of: alice, { $0.hasPending }) == false)
    }

    // C-23, R-37
    @Test func `a resume without presence before the admission → the member is not sent presence`() throws {
        let stage = RelayStage()
        stage.relay.storeDelay = .seconds(1)
        let bob = stage.member("bob", of: .lobby)
        let welcome = try #require(bob.log.last(Welcome.self))
        bob.cut()
        let again = try #require(stage.connect())
        let positions = [
            SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 0),
        ]
        let point = ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions)
        again.greet("bob", features: Features.supported.subtracting(.presence), resume: point)
        stage.run(for: .seconds(2))
        #expect(again.log.last(Opened.self)?.members == [.bob])
        _ = stage.member("carol", of: .lobby)
        stage.run(for: .seconds(2))
        #expect(again.log.all(Transient.self).isEmpty)
    }

    // MARK: Requests with the same correlation

    /// A request to join the lobby.
    private func join(_ correlation: UInt64) -> Request {
        let content = MembershipOperation.join.content(of: .lobby)
        return Request(
            correlation: correlation, method: MembershipMethod.join.name, deadline: .seconds(60), content: content)
    }

    /// A request for the first page of the account's rooms.
    private func list(_ correlation: UInt64) -> Request {
        Request(
            correlation: correlation, method: MembershipMethod.list, deadline: .seconds(60),
            content: RoomListQuery().content)
    }

    // S-54, S-58
    @Test func `open requests with the same correlation on the account's session → an answer to each`() throws {
        let stage = RelayStage()
        let alice = try peer(.account, of: .named("alice"), on: stage)
        for _ in 0..<2 { alice.say(join(7), on: .first) }
        for _ in 0..<2 { alice.say(list(7), on: .first) }
        alice.say(Request(correlation: 7, method: .locate, deadline: .seconds(60)), on: .first)
        stage.run(for: .seconds(10))
        let responses = alice.log.all(Response.self)
        #expect(responses.map(\.correlation) == [7, 7, 7, 7, 7])
        #expect(responses.map(\.status) == [.unknownMethod, .none, .none, .none, .none])
        #expect(responses.count { $0.content != nil } == 2)
    }

    // S-54, S-56
    @Test func `the late result of a cancelled request does not answer a request with the same correlation`() throws {
        let stage = RelayStage()
        stage.relay.answersRequests = false
        let alice = try peer(.account, of: .named("alice"), on: stage)
        alice.say(join(7), on: .first)
        alice.say(CancelRequest(correlation: 7), on: .first)
        alice.say(Request(correlation: 7, method: .locate, deadline: .seconds(60)), on: .first)
        stage.run(for: .seconds(5))
        #expect(stage.relay.memberships[.lobby]?[.alice]?.isJoined == true)
        #expect(alice.log.all(Response.self).isEmpty)
        let id = try #require(stage.relay.requests.first?.id)
        stage.act { $0.completed(id, .answer(RequestAnswer(status: .unknownMethod)), now: $1) }
        #expect(alice.log.all(Response.self) == [Response(correlation: 7, status: .unknownMethod)])
    }

    // MARK: Close behind requests

    /// A peer with a session of a kind, whose later requests wait a second for the store.
    private func peer(_ kind: SessionKind, of room: RoomName, on stage: RelayStage) throws -> RawPeer {
        let peer = try #require(stage.connect())
        peer.greet("alice", features: .supported.union([.compact, .accountSession, .attachments]))
        peer.say(Open(room: room, kind: kind, cursor: 0), on: .first)
        stage.run(for: .seconds(1))
        stage.relay.storeDelay = .seconds(1)
        return peer
    }

    private func reliableTypes(_ peer: RawPeer) -> [FrameType] {
        peer.log.frames.filter { $0.header.session == .first && $0.header.flags.contains(.reliable) }.map(\.type)
    }

    // S-7, S-58, R-147
    @Test func `a close behind a request on the account's session → its answer, then the close`() throws {
        let stage = RelayStage()
        let alice = try peer(.account, of: .named("alice"), on: stage)
        let join = MembershipOperation.join
        alice.say(
            Request(
                correlation: 1, method: join.method.name, deadline: .seconds(60), content: join.content(of: .lobby)),
            on: .first)
        alice.say(Close(), on: .first)
        #expect(reliableTypes(alice) == [.opened])
        stage.run(for: .seconds(5))
        #expect(reliableTypes(alice) == [.opened, .response, .close])
        #expect(alice.log.all(Response.self).map(\.status) == [.none])
        #expect(stage.relay.memberships[.lobby]?[.alice]?.isJoined == true)
        #expect(stage.relay.engine.sessions.accounts.count == 0)
        #expect(stage.relay.engine.sessions.rooms.local.watchers.isEmpty)
    }

    // S-55, R-147
    @Test func `a close behind a request that no one answers on the account's session → deadlineExceeded, the close`()
        throws
    {
        let stage = RelayStage()
        stage.relay.answersRequests = false
        let alice = try peer(.account, of: .named("alice"), on: stage)
        alice.say(Request(correlation: 1, method: .locate, deadline: .seconds(3)), on: .first)
        alice.say(Close(), on: .first)
        stage.run(for: .seconds(2))
        #expect(reliableTypes(alice) == [.opened])
        stage.run(for: .seconds(2))
        #expect(reliableTypes(alice) == [.opened, .response, .close])
        #expect(alice.log.all(Response.self).map(\.status) == [.deadlineExceeded])
        #expect(stage.relay.engine.sessions.accounts.count == 0)
    }

    // S-54, R-147
    @Test func `a close behind two requests with the same correlation → two answers, then the close`() throws {
        let stage = RelayStage()
        stage.relay.answersRequests = false
        let alice = try peer(.account, of: .named("alice"), on: stage)
        for _ in 0..<2 { alice.say(Request(correlation: 7, method: .locate, deadline: .seconds(3)), on: .first) }
        alice.say(Close(), on: .first)
        stage.run(for: .seconds(4))
        #expect(reliableTypes(alice) == [.opened, .response, .response, .close])
        let overdue = Response(correlation: 7, status: .deadlineExceeded)
        #expect(alice.log.all(Response.self) == [overdue, overdue])
        #expect(stage.relay.engine.sessions.accounts.count == 0)
    }

    //
    @Test func `a change of a record behind the close of the account's session → no update is sent`() throws {
        let stage = RelayStage()
        stage.relay.answersRequests = false
        let alice = try peer(.account, of: .named("alice"), on: stage)
        let join = MembershipOperation.join
        alice.say(
            Request(
                correlation: 1, method: join.method.name, deadline: .seconds(60), content: join.content(of: .lobby)),
            on: .first)
        alice.say(Request(correlation: 2, method: .locate, deadline: .seconds(3)), on: .first)
        alice.say(Close(), on: .first)
        stage.run(for: .seconds(5))
        #expect(stage.relay.memberships[.lobby]?[.alice]?.isJoined == true)
        #expect(reliableTypes(alice) == [.opened, .response, .response, .close])
        #expect(alice.log.all(Response.self).map(\.status) == [.none, .deadlineExceeded])
        #expect(stage.relay.engine.sessions.accounts.count == 0)
    }

    // S-7, R-147
    @Test func `a close behind requests on a session of kind attachment → their answers, then the close`() throws {
        let stage = RelayStage()
        let alice = try peer(.attachment, of: .lobby, on: stage)
        let digest = try #require(AttachmentDigest([UInt8](repeating: 7, count: AttachmentDigest.byteCount)))
        for request in [.begin(digest, byteCount: 2, mediaType: nil), .info(digest)] as [AttachmentRequest] {
            alice.say(
                Request(
                    correlation: request.method == .begin ? 1 : 2, method: request.method.name, deadline: .seconds(60),
                    content: request.content), on: .first)
        }
        alice.say(Close(), on: .first)
        #expect(reliableTypes(alice) == [.opened])
        #expect(stage.relayLink(of: alice, { $0.sessions.count }) == 1)
        stage.run(for: .seconds(5))
        #expect(reliableTypes(alice) == [.opened, .response, .response, .close])
        #expect(stage.relayLink(of: alice, { $0.sessions.count }) == 0)
        #expect(alice.log.all(Response.self).map(\.status) == [.none, .unknownAttachment])
        #expect(stage.relay.engine.statistics.rooms == 0)
    }

    //
    @Test func `a link that ends behind the close of a session of kind attachment → nothing is left`() throws {
        let stage = RelayStage()
        let alice = try peer(.attachment, of: .lobby, on: stage)
        let digest = try #require(AttachmentDigest([UInt8](repeating: 7, count: AttachmentDigest.byteCount)))
        let info = AttachmentRequest.info(digest)
        alice.say(
            Request(correlation: 1, method: info.method.name, deadline: .seconds(60), content: info.content),
            on: .first)
        alice.say(Close(), on: .first)
        alice.say(GoAway(Notice(code: .none)))
        stage.run(for: .seconds(5))
        #expect(stage.relay.engine.statistics.links == 0 && stage.relay.engine.statistics.rooms == 0)
    }

    // MARK: Presence

    //
    @Test func `a resume beside the last connection receives the presence that was reported to that one`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        bob.cut()
        #expect(alice.log.last(Transient.self)?.content == .presence(.away))
        let welcome = try #require(alice.log.last(Welcome.self))
        let again = try #require(stage.connect())
        let positions = [SessionID.control, .first].map { SessionPosition(session: $0, received: 0) }
        again.greet(
            "alice", resume: ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions))
        #expect(again.log.all(Transient.self) == [Transient(.presence(.away), sender: .bob)])
    }
}
