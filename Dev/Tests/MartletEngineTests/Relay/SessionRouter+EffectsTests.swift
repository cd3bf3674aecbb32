import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Effects of rooms on sessions: frames that are queued when a message is erased.
@Suite struct SessionRouterEffectsTests {
    private let stage = RelayStage()
    private let long = String(repeating: "s", count: 8000)

    /// A member whose session has credit for two long texts.
    private func slowMember() throws -> RawPeer {
        let peer = try #require(stage.connect())
        peer.greet("bob", limits: Limits(sessionWindow: Limits.minimum.sessionWindow))
        peer.open(.lobby, on: .first)
        return peer
    }

    private func reference(_ counter: UInt64) -> MessageReference {
        MessageReference(MessageID(sender: .alice, device: DeviceID(rawValue: 1), counter: counter))
    }

    private func post(_ body: MessageBody, _ counter: UInt64, by peer: RawPeer) throws {
        peer.say(.data, Message(counter: counter, content: try body.content).encode(), on: .first)
        stage.run(for: .seconds(1))
    }

    private func post(_ texts: String..., by peer: RawPeer) {
        for (index, text) in texts.enumerated() { peer.text(text, counter: UInt64(index + 1)) }
        stage.run(for: .seconds(1))
    }

    private func kinds(_ peer: RawPeer) -> [ContentKind] { peer.log.all(Message.self).map(\.kind) }

    // MARK: Sessions of rooms

    //
    @Test func `an erased message for which the member has no credit → the session continues with the replaced body`()
        throws
    {
        let alice = stage.member("alice", of: .lobby)
        let bob = try slowMember()
        post(long, long, long, by: alice)
        #expect(kinds(bob) == [.text, .text])
        try post(.delete(reference(3)), 4, by: alice)
        bob.acknowledgeAll()
        stage.run(for: .seconds(1))
        #expect(bob.resets.isEmpty && kinds(bob) == [.text, .text, .erased, .delete])
    }

    //
    @Test func `an erased message that exceeds the credit → the session is reset, the next one gets the replaced body`()
        throws
    {
        let alice = stage.member("alice", of: .lobby)
        let bob = try slowMember()
        post(long, long + long, by: alice)
        #expect(kinds(bob) == [.text])
        try post(.delete(reference(2)), 3, by: alice)
        #expect(bob.resets == [.slowConsumer])
        bob.open(.lobby, on: .second)
        stage.run(for: .seconds(1))
        #expect(kinds(bob) == [.text, .text, .erased, .delete])
    }

    //
    @Test func `an erased message that was sent, before others that wait for credit → the session continues`() throws {
        let alice = stage.member("alice", of: .lobby)
        let bob = try slowMember()
        post(long, long, long, by: alice)
        try post(.delete(reference(2)), 4, by: alice)
        bob.acknowledgeAll()
        stage.run(for: .seconds(1))
        #expect(bob.resets.isEmpty && kinds(bob) == [.text, .text, .text, .delete])
    }

    //
    @Test func `an erased message of which some fragments were sent → the session is reset`() throws {
        let alice = stage.member("alice", of: .lobby)
        let bob = try slowMember()
        post(String(repeating: "s", count: 40_000), by: alice)
        #expect(bob.log.frames.contains { $0.type == .data } && kinds(bob).isEmpty)
        try post(.delete(reference(1)), 2, by: alice)
        #expect(bob.resets == [.slowConsumer])
    }

    //
    @Test func `an edit of an erased message that exceeds the credit → the session is reset`() throws {
        let alice = stage.member("alice", of: .lobby)
        let bob = try slowMember()
        post("short", long, by: alice)
        try post(.edit(of: reference(1), text: long + long), 3, by: alice)
        #expect(kinds(bob) == [.text, .text])
        try post(.delete(reference(1)), 4, by: alice)
        #expect(bob.resets == [.slowConsumer])
    }

    //
    @Test(arguments: [1, 2] as [UInt64])
    func `a page of history that waits for credit → the session is reset if the page has the erased message`(
        target: UInt64
    ) throws {
        let alice = stage.member("alice", of: .lobby)
        let bob = try slowMember()
        post(long, long, by: alice)
        bob.say(
            Request(
                correlation: 1, method: HistoryQuery.method, deadline: .seconds(60),
                content: HistoryQuery(.before(.max), limit: 1).content), on: .first)
        stage.run(for: .seconds(1))
        #expect(bob.log.all(Response.self).isEmpty)
        try post(.delete(reference(target)), 3, by: alice)
        #expect(bob.resets == (target == 2 ? [.slowConsumer] : []))
    }

    //
    @Test(arguments: [false, true])
    func `a link without a connection → its session is reset unless it has acknowledged the erased message`(
        isAcknowledged: Bool
    ) throws {
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        post("first", "second", by: alice)
        if isAcknowledged { bob.acknowledge(2) }
        let welcome = try #require(bob.log.last(Welcome.self))
        bob.cut()
        try post(.delete(reference(1)), 3, by: alice)
        let again = try #require(stage.connect())
        let positions = [
            SessionPosition(session: .control, received: 0),
            SessionPosition(session: .first, received: isAcknowledged ? 2 : 1),
        ]
        again.greet("bob", resume: ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions))
        stage.run(for: .seconds(1))
        #expect(again.resets == (isAcknowledged ? [] : [.slowConsumer]))
        #expect(kinds(again) == (isAcknowledged ? [.text, .delete] : []))
    }

    // MARK: Sessions of accounts

    /// An account that has joined the lobby, and does not read.
    private func lister() throws -> RawPeer {
        let peer = try #require(stage.connect())
        peer.greet("bob", features: .supported.union([.compact, .accountSession]))
        peer.say(Open(room: .named("bob"), kind: .account, cursor: 0), on: .first)
        let join = MembershipOperation.join
        peer.say(
            Request(
                correlation: 1, method: join.method.name, deadline: .seconds(60), content: join.content(of: .lobby)),
            on: .first)
        stage.run(for: .seconds(1))
        #expect(peer.log.all(Response.self).map(\.status) == [.none])
        peer.isReading = false
        return peer
    }

    private func read(_ peer: RawPeer) {
        peer.isReading = true
        peer.read()
        stage.run(for: .seconds(1))
    }

    private func shown(_ peer: RawPeer) -> [ContentKind] {
        peer.log.all(RoomUpdate.self).compactMap { $0.entry?.lastMessage?.kind }
    }

    //
    @Test(arguments: [1, 2] as [UInt64])
    func `an update that was not sent → the session is reset if the update may have the erased message`(
        target: UInt64
    ) throws {
        let alice = stage.member("alice", of: .lobby)
        post("first", by: alice)
        let bob = try lister()
        let sent = shown(bob).count
        alice.text("second", counter: 2)
        stage.run(for: .seconds(1))
        try post(.delete(reference(target)), 3, by: alice)
        read(bob)
        #expect(bob.resets == (target == 2 ? [.slowConsumer] : []))
        #expect(shown(bob).dropFirst(sent) == (target == 2 ? [] : [.text, .text]))
    }

    //
    @Test func `an update with the text of an edit that was not sent, and the edit is erased → the session is reset`()
        throws
    {
        let bob = try lister()
        let alice = stage.member("alice", of: .lobby)
        post("first", by: alice)
        try post(.edit(of: reference(1), text: "edited"), 2, by: alice)
        try post(.delete(reference(2)), 3, by: alice)
        read(bob)
        #expect(bob.resets == [.slowConsumer])
    }

    //
    @Test func `an edit that was not sent, and a deletion at an unknown offset → the session is reset`() throws {
        let bob = try lister()
        let alice = stage.member("alice", of: .lobby)
        post("first", by: alice)
        try post(.edit(of: reference(1), text: "edited"), 2, by: alice)
        // Each skipped counter begins a run, and the first one is forgotten.
        for number in 2...UInt64(DeduplicationWindow.maxRuns + 2) {
            let reaction = try MessageBody.reaction("+", to: reference(1), isRemoved: number % 2 == 1).content
            alice.say(.data, Message(counter: 2 * number, content: reaction).encode(), on: .first)
        }
        try post(.delete(reference(1)), 100, by: alice)
        read(bob)
        #expect(bob.resets == [.slowConsumer])
    }

    //
    @Test func `a page of rooms that was not sent → the account's session is reset`() throws {
        let alice = stage.member("alice", of: .lobby)
        post("first", by: alice)
        let bob = try lister()
        bob.say(
            Request(
                correlation: 2, method: MembershipMethod.list, deadline: .seconds(60),
                content: RoomListQuery().content), on: .first)
        stage.run(for: .seconds(1))
        try post(.delete(reference(1)), 2, by: alice)
        read(bob)
        #expect(bob.resets == [.slowConsumer] && bob.log.all(Response.self).count == 1)
    }

    // MARK: The kind erased

    // M-37, R-24
    @Test func `a message of kind erased from a client → refused with invalidValue, and the session continues`() {
        let alice = stage.member("alice", of: .lobby)
        alice.say(.data, Message.encodeClient(counter: 1, kind: .erased, content: []), on: .first)
        alice.text("second", counter: 2)
        stage.run(for: .seconds(1))
        #expect(alice.log.all(Receipt.self) == [.refused(Receipt.Refusal(counter: 1, code: .invalidValue))])
        #expect(kinds(alice) == [.text])
    }
}
