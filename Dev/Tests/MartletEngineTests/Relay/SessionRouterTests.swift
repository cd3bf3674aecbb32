import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Links at a relay: their suspension, and the path between their sessions and rooms.
@Suite struct SessionRouterTests {
    private func resume(_ peer: RawPeer, _ account: String, on stage: RelayStage) -> Welcome? {
        guard let welcome = peer.log.last(Welcome.self), let next = stage.connect() else { return nil }
        let positions = [SessionPosition(session: .control, received: 0)]
        return next.greet(
            account, resume: ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions))
    }

    // MARK: The session of the link

    //
    @Test func `requests on session 0 → the relay's clock for time, unknownMethod for others, noRecipient for members`()
        throws
    {
        let stage = RelayStage()
        let peer = stage.member("alice")
        let methods: [(name: String, recipient: AccountName?)] = [("time", nil), ("other", nil), ("time", .bob)]
        for (number, method) in methods.enumerated() {
            peer.say(
                Request(
                    correlation: UInt64(number), method: try #require(MethodName(method.name)), deadline: .seconds(60),
                    recipient: method.recipient), on: .control)
        }
        let responses = peer.log.all(Response.self)
        #expect(responses.map(\.status) == [.none, .unknownMethod, .noRecipient])
        #expect(try RelayTime(parsing: responses[0].content).wallClock == stage.relay.engine.wallClock)
    }

    // MARK: Suspended links

    // C-31, C-60
    @Test func `a suspended link is kept for its lifetime and no longer`() throws {
        let stage = RelayStage()
        let early = stage.member("alice")
        let late = stage.member("bob")
        early.cut()
        late.cut()
        stage.run(for: .milliseconds(299_999))
        #expect(resume(early, "alice", on: stage) != nil)
        stage.run(for: .milliseconds(1))
        #expect(stage.relay.engine.statistics.suspendedLinks == 0)
        #expect(resume(late, "bob", on: stage) == nil)
        #expect(
            stage.relay.notes.contains { if case .link(.ended(let who, _)) = $0 { who.account == .bob } else { false } }
        )
    }

    // C-62
    @Test func `a suspended link beyond the bound removes the one suspended for longest`() throws {
        let stage = RelayStage { $0.link.maxSuspendedLinks = 2 }
        let peers = ["a", "b", "c"].map { stage.member($0) }
        for peer in peers {
            stage.run(for: .seconds(1))
            peer.cut()
        }
        #expect(stage.relay.engine.statistics.suspendedLinks == 2)
        #expect(resume(peers[0], "a", on: stage) == nil)
        #expect(resume(peers[1], "b", on: stage) != nil)
        #expect(resume(peers[2], "c", on: stage) != nil)
    }

    // C-62, Specs/hostile.md row 33
    @Test func `an account with many suspended links loses its own and no other account's`() throws {
        let stage = RelayStage { $0.link.maxSuspendedLinks = 8 }
        let honest = ["a", "b", "c"].map { stage.member($0) }
        for peer in honest { peer.cut() }
        for device in 1...40 as ClosedRange<UInt64> {
            stage.run(for: .milliseconds(10))
            stage.member("mallory", device: device).cut()
        }
        #expect(stage.relay.engine.statistics.suspendedLinks == 8)
        for (peer, name) in zip(honest, ["a", "b", "c"]) { #expect(resume(peer, name, on: stage) != nil) }
    }

    @Test func `a link suspended repeatedly counts from its last suspension`() throws {
        let stage = RelayStage { $0.link.maxSuspendedLinks = 2 }
        let restless = stage.member("a")
        restless.cut()
        let quiet = stage.member("b")
        stage.run(for: .seconds(1))
        quiet.cut()
        stage.run(for: .seconds(1))
        var welcome = try #require(restless.log.last(Welcome.self))
        for _ in 0..<50 {
            let again = try #require(stage.connect())
            let positions = [SessionPosition(session: .control, received: 0)]
            welcome = try #require(
                again.greet(
                    "a", resume: ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions)))
            stage.run(for: .milliseconds(10))
            again.cut()
        }
        #expect(stage.relay.engine.sessions.links.suspensionCount <= 2 * 2 + 16)
        let third = stage.member("c")
        third.cut()
        #expect(resume(quiet, "b", on: stage) == nil)
        #expect(stage.relay.engine.statistics.suspendedLinks == 2)
    }

    // C-42
    @Test func `a goaway without an error removes the link, one with an error suspends it`() throws {
        let stage = RelayStage()
        let polite = stage.member("alice", of: .lobby)
        let broken = stage.member("bob", of: .lobby)
        polite.say(GoAway(Notice(code: .none)))
        broken.say(GoAway(Notice(code: .badChecksum)))
        #expect(polite.closedAt != nil)
        #expect(broken.closedAt != nil)
        #expect(stage.relay.engine.statistics.links == 1)
        #expect(stage.relay.engine.statistics.suspendedLinks == 1)
    }

    @Test func `ended links leave no state`() throws {
        let stage = RelayStage()
        for round in 0..<50 {
            let peer = stage.member("alice", of: .lobby)
            peer.open(.hall, on: .second)
            peer.text("line \(round)", counter: UInt64(round + 1))
            if round.isMultiple(of: 2) { peer.cut() } else { peer.say(GoAway(Notice(code: .none))) }
        }
        stage.run(for: .seconds(400))
        let engine = stage.relay.engine.statistics
        #expect(engine.links == 0)
        #expect(engine.connections == 0)
        #expect(engine.rooms == 0)
        #expect(stage.relay.engine.deadline == nil)
        #expect(
            stage.relay.engine.server.connections.heldCount == 0 && stage.relay.engine.sessions.links.heldCount == 0)
        #expect(stage.relay.engine.sessions.links.slots.count <= 2)
        #expect(stage.relay.engine.server.connections.slots.count <= 2)
    }

    // MARK: Rooms

    //
    @Test func `a second session of a room on a link is reset with alreadyOpen`() throws {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.open(.lobby, on: .second)
        #expect(peer.log.last(Reset.self)?.code == .alreadyOpen)
        peer.text("still", counter: 1)
        #expect(stage.relay.log[.lobby]?.count == 1)
    }

    // S-49, R-37
    @Test func `members that open a room at the same time get opened before presence`() throws {
        let stage = RelayStage()
        stage.relay.storeDelay = .milliseconds(100)
        let peers = (1...5).map { stage.member("member-\($0)", device: $0, of: .lobby) }
        stage.run(for: .seconds(1))
        for peer in peers {
            let own = peer.log.frames.filter { $0.header.session == .first }
            #expect(own.first?.type == .opened)
            let opened = try #require(peer.log.last(Opened.self))
            let present = opened.members + peer.log.all(Transient.self).compactMap(\.sender)
            #expect(Set(present).count == peers.count)
        }
    }

    // S-5, R-15
    @Test func `frames of a session before its room is loaded are processed in order`() throws {
        let stage = RelayStage()
        stage.relay.storeDelay = .milliseconds(100)
        let peer = stage.member("alice", of: .lobby)
        for counter in UInt64(1)...5 { peer.text("line \(counter)", counter: counter) }
        peer.say(Transient(.typing(true)), on: .first)
        #expect(peer.log.last(Opened.self) == nil)
        stage.run(for: .milliseconds(300))
        #expect(stage.relay.log[.lobby]?.map(\.counter) == [1, 2, 3, 4, 5])
        #expect(peer.log.last(Accepted.self)?.runs == [AcceptedRun(firstCounter: 1, count: 5, firstOffset: 1)])
    }

    // S-8
    @Test func `a session closed before its room is loaded is not opened`() throws {
        let stage = RelayStage()
        stage.relay.storeDelay = .milliseconds(100)
        let peer = stage.member("alice", of: .lobby)
        peer.say(Close(code: nil, reason: nil), on: .first)
        stage.run(for: .seconds(1))
        #expect(peer.log.last(Opened.self) == nil)
        #expect(stage.relay.engine.statistics.rooms == 0)
    }

    // S-8, R-49
    @Test func `open, messages and close at once are answered by opened, accepted and close`() throws {
        let stage = RelayStage()
        stage.relay.storeDelay = .milliseconds(100)
        let reader = stage.member("bob", of: .lobby)
        let peer = stage.member("alice", of: .lobby)
        for counter in UInt64(1)...5 { peer.text("line \(counter)", counter: counter) }
        peer.say(Close(code: nil, reason: nil), on: .first)
        stage.run(for: .seconds(1))
        #expect(peer.log.last(Opened.self) != nil)
        #expect(peer.log.last(Accepted.self)?.runs == [AcceptedRun(firstCounter: 1, count: 5, firstOffset: 1)])
        #expect(peer.log.last(Close.self) != nil)
        #expect(reader.log.all(Message.self).map(\.counter) == [1, 2, 3, 4, 5])
        #expect(peer.closedAt == nil)
    }

    // S-8
    @Test func `messages and close behind an open that is refused are answered by a reset`() throws {
        let stage = RelayStage()
        stage.relay.storeDelay = .milliseconds(100)
        stage.relay.refusesLoads = true
        let peer = stage.member("alice", of: .lobby)
        peer.text("never", counter: 1)
        peer.say(Close(code: nil, reason: nil), on: .first)
        stage.run(for: .seconds(1))
        #expect(peer.log.last(Reset.self)?.code == .storeUnavailable)
        #expect(peer.log.last(Close.self) == nil)
    }

    //
    @Test func `a room whose store cannot load it resets its sessions`() throws {
        let stage = RelayStage()
        stage.relay.refusesLoads = true
        let peer = stage.member("alice", of: .lobby)
        #expect(peer.log.last(Reset.self)?.code == .storeUnavailable)
        #expect(peer.closedAt == nil)
        stage.relay.refusesLoads = false
        peer.open(.lobby, on: .second)
        #expect(peer.log.last(Opened.self) != nil)
    }

    // S-9
    @Test func `a session suspended directly behind its open receives nothing until resume`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob")
        var bytes = bob.maker.frame(
            Open(room: .lobby, kind: .chat, cursor: 0, tail: nil, noLocal: false), on: .first)
        bytes += bob.maker.frame(Suspend(), on: .first)
        bob.send(bytes)
        alice.text("one", counter: 1)
        #expect(bob.log.all(Message.self).isEmpty)
        bob.say(Resume(cursor: nil), on: .first)
        #expect(bob.log.all(Message.self).map(\.text) == ["one"])
    }

    //
    @Test func `a cursor in a resume before the room is loaded advances the session`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        for counter in UInt64(1)...5 { alice.text("line \(counter)", counter: counter) }
        alice.say(Close(), on: .first)
        stage.relay.storeDelay = .seconds(1)
        let bob = stage.member("bob")
        bob.open(.lobby, on: .first)
        bob.say(Suspend(), on: .first)
        bob.say(Resume(cursor: 3), on: .first)
        stage.run(for: .seconds(5))
        #expect(bob.log.all(Message.self).map(\.counter) == [4, 5])
    }

    // W-58
    @Test func `a session that resumes with a cursor receives the messages after it`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        bob.say(Suspend(), on: .first)
        for counter in UInt64(1)...5 { alice.text("line \(counter)", counter: counter) }
        bob.say(Resume(cursor: 3), on: .first)
        #expect(bob.log.all(Message.self).map(\.counter) == [4, 5])
    }

    //
    @Test func `a message beyond the relay's limit is refused`() throws {
        let stage = RelayStage { $0.link.limits = Limits(maxMessageByteCount: 20_000) }
        let peer = stage.member("alice", of: .lobby)
        let content = Message.textContent(String(repeating: "x", count: 19_900))
        let body = Message.encodeClient(counter: 1, kind: .text, content: content)
        peer.say(.data, Array(body.prefix(16_384)), on: .first, flags: .moreFragments)
        peer.say(.data, Array(body.dropFirst(16_384)), on: .first)
        #expect(peer.log.last(Receipt.self) == .refused(Receipt.Refusal(counter: 1, code: .messageTooLarge)))
        peer.text("short", counter: 2)
        #expect(stage.relay.log[.lobby]?.map(\.counter) == [2])
    }

    //
    @Test func `a message beyond a member's limit → a gap for that member, delivered to the others`() throws {
        let stage = RelayStage()
        let small = try #require(stage.connect())
        small.greet("small", limits: Limits(maxMessageByteCount: 16 << 10))
        small.open(.lobby, on: .first)
        let large = stage.member("large", of: .lobby)
        let alice = stage.member("alice", of: .lobby)
        let body = Message.encodeClient(
            counter: 1, kind: .text, content: Message.textContent(String(repeating: "x", count: 20_000)))
        alice.say(.data, Array(body.prefix(16_384)), on: .first, flags: .moreFragments)
        alice.say(.data, Array(body.dropFirst(16_384)), on: .first)
        alice.text("short", counter: 2)
        #expect(small.log.last(Gap.self) == Gap(offsets: 1...1))
        #expect(small.log.all(Message.self).map(\.counter) == [2])
        #expect(large.log.frames.count { $0.type == .data } == 3)
        #expect(large.log.last(Gap.self) == nil)
    }

    // S-58
    @Test func `a request on the control session → an error response, an empty one ends the connection`() throws {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.say(Request(correlation: 1, method: .locate, deadline: .seconds(1)))
        peer.say(Request(correlation: 2, method: .locate, deadline: .seconds(1), recipient: .bob))
        var nameless = TLVWriter(reserving: 0)
        nameless.append(.correlation, uint64: 3)
        peer.say(.request, nameless.bytes)
        peer.say(Response(correlation: 9, status: .none))
        peer.say(CancelRequest(correlation: 9))
        let answers = peer.log.frames.filter { $0.type == .response && $0.header.session == .control }
        #expect(
            answers.compactMap { $0.parsed(Response.self) } == [
                Response(correlation: 1, status: .unknownMethod), Response(correlation: 2, status: .noRecipient),
                Response(correlation: 3, status: .missingField),
            ])
        #expect(stage.relay.requests.isEmpty)
        #expect(peer.closedAt == nil)
        peer.say(.request, [])
        #expect(peer.farewell == .missingField)
    }

    // C-23
    @Test func `frames of a feature that a member lacks are neither forwarded nor sent`() throws {
        let stage = RelayStage()
        let plain = try #require(stage.connect())
        plain.greet("plain", features: [])
        plain.open(.lobby, on: .first)
        let alice = stage.member("alice", of: .lobby)
        let kind = ContentKind(rawValue: 0xF000)
        alice.text("hello", counter: 1)
        alice.say(Transient(.typing(true)), on: .first)
        alice.say(Transient(.message(kind, [])), on: .first)
        alice.say(
            Request(correlation: 1, method: .locate, deadline: .seconds(1), recipient: .named("plain")), on: .first)
        #expect(plain.log.all(Transient.self) == [Transient(.message(kind, []), sender: .alice)])
        #expect(alice.log.all(Response.self) == [Response(correlation: 1, status: .noRecipient)])
        let heard = alice.log.frames.count
        plain.say(Transient(.typing(true)), on: .first)
        plain.say(Receipt.progress(Receipt.Progress(.read, upTo: 1)), on: .first)
        plain.say(Request(correlation: 2, method: .locate, deadline: .seconds(1), recipient: .alice), on: .first)
        #expect(alice.log.frames.count == heard)
        #expect(plain.log.all(Response.self) == [Response(correlation: 2, status: .unknownMethod)])
        plain.say(Transient(.message(kind, [])), on: .first)
        #expect(alice.log.all(Transient.self).last == Transient(.message(kind, []), sender: .named("plain")))
        #expect(plain.closedAt == nil)
    }

    @Test func `a chat message is delivered while bulk beyond its bound is held back`() throws {
        let stage = RelayStage()
        let bob = stage.member("bob", of: .lobby)
        let alice = stage.member("alice", of: .lobby)
        let sessions = [3, 5, 7].map { SessionID(rawValue: $0) }
        for session in sessions {
            let room = try #require(RoomName("files \(session.rawValue)"))
            for peer in [bob, alice] { peer.say(Open(room: room, kind: .file, cursor: 0), on: session) }
            bob.acknowledge(1, on: session)
        }
        for counter in UInt64(1)...120 {
            let session = sessions[Int(counter) % 3]
            alice.text(String(repeating: "x", count: 8000), counter: counter, on: session)
            alice.acknowledgeAll(on: session)
        }
        let waiting = try #require(stage.queued(for: bob))
        #expect((320 << 10..<400 << 10).contains(waiting.bulk))
        alice.text("a typed line", counter: 1000)
        #expect(bob.log.all(Message.self).last?.text == "a typed line")
    }

    //
    @Test func `transient frames are forwarded within their rate, and presence of a client never`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        let before = bob.log.all(Transient.self).count
        alice.say(Transient(.presence(.left)), on: .first)
        #expect(bob.log.all(Transient.self).count == before)
        for _ in 0..<300 { alice.say(Transient(.typing(true)), on: .first) }
        // Each frame counts, also one that is not forwarded.
        #expect(bob.log.all(Transient.self).count - before == 99)
        #expect(alice.closedAt == nil)
    }

    @Test func `a transient frame that exceeds one frame with its sender is not forwarded`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        var content = TLVWriter(reserving: 0)
        content.append(.text, bytes: [UInt8](repeating: 0x61, count: 16_350))
        alice.say(Transient(.message(ContentKind(rawValue: 0xF000), content.bytes)), on: .first)
        for frame in bob.log.frames where frame.type == .transient { #expect(frame.parsed(Transient.self) != nil) }
        #expect(alice.closedAt == nil)
    }

    // MARK: The operator

    @Test func `a request without a recipient is passed to the handler with its room and its sender`() {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        peer.say(
            Request(correlation: 7, method: .locate, deadline: .seconds(5), recipient: nil, sender: nil, content: nil),
            on: .first)
        #expect(peer.log.last(Response.self) == Response(correlation: 7, status: .unknownMethod))
        #expect(stage.relay.requests.map(\.request.sender) == [.alice])
        #expect(stage.relay.requests.map(\.room) == [.lobby])
    }

    // S-55
    @Test func `an unanswered request ends at its deadline, and a later response has no effect`() throws {
        let stage = RelayStage()
        stage.relay.answersRequests = false
        let peer = stage.member("alice", of: .lobby)
        peer.say(
            Request(correlation: 7, method: .locate, deadline: .seconds(5), recipient: nil, sender: nil, content: nil),
            on: .first)
        peer.acknowledge(1)
        stage.run(for: .milliseconds(4999))
        #expect(peer.log.last(Response.self) == nil)
        stage.run(for: .milliseconds(1))
        #expect(peer.log.last(Response.self) == Response(correlation: 7, status: .deadlineExceeded))
        let late = try #require(stage.relay.requests.first)
        stage.act { engine, _ in
            engine.completed(late.id, .answer(RequestAnswer(status: .none)), now: stage.now)
        }
        #expect(peer.log.all(Response.self).count == 1)
    }

    //
    @Test func `opened names the first offset that the store kept after the last append`() {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        for counter in 1...3 as ClosedRange<UInt64> { alice.text("hello", counter: counter) }
        stage.relay.store.trim(.lobby, before: 3)
        alice.text("hello", counter: 4)
        let bob = stage.member("bob", of: .lobby)
        #expect(bob.log.last(Opened.self)?.first == 3)
    }

    // C-28, Specs/hostile.md row 24
    @Test func `revoke ends every connection and link of the account and no other`() throws {
        let stage = RelayStage()
        let phone = stage.member("alice", device: 1, of: .lobby)
        let laptop = stage.member("alice", device: 2, of: .lobby)
        let away = stage.member("alice", device: 3)
        let bob = stage.member("bob", of: .lobby)
        away.cut()
        stage.act { $0.revoke(.alice, now: $1) }
        #expect(phone.farewell == .revoked)
        #expect(laptop.farewell == .revoked)
        #expect(phone.closedAt == stage.now)
        #expect(bob.closedAt == nil)
        #expect(stage.relay.engine.statistics.links == 1)
        #expect(resume(away, "alice", on: stage) == nil)
        #expect(bob.log.all(Transient.self).last?.content == .presence(.left))
    }

    // C-45
    @Test func `drain closes all connections and rejects new ones with its notice`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let silent = try #require(stage.connect())
        stage.act { $0.drain(retryAfter: .seconds(5), redirect: "martlet://b.example", now: $1) }
        let notice = alice.log.last(GoAway.self)?.notice
        #expect(notice?.code == .draining)
        #expect(notice?.retryAfter == .seconds(5))
        #expect(notice?.redirect == "martlet://b.example")
        #expect(alice.closedAt != nil)
        #expect(silent.closedAt != nil)
        let late = try #require(stage.connect())
        late.greet("bob")
        #expect(late.farewell == .draining)
        #expect(late.log.last(Reject.self)?.notice.redirect == "martlet://b.example")
    }
}
