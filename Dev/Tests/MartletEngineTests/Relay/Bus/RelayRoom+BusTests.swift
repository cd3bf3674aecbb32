import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// A room with members at another relay, by hand.
@Suite struct RelayRoomBusTests {
    private static let two = RelayID(rawValue: 2)

    /// A room with members at this relay, which knows the members of relay 2.
    private func room(_ members: String..., snapshot: RoomSnapshot = RoomSnapshot()) -> RoomScript {
        var script = RoomScript(busItemByteCount: 4096)
        script.rooms.busReceived(.incomplete(Self.two, before: 1), now: script.now)
        for member in members { script.join(member) }
        script.rooms.loaded(script.room, snapshot)
        _ = script.drain()
        script.receive([], isWhole: true)
        _ = script.drain()
        return script
    }

    private func presence(_ account: String, _ presence: Transient.Presence) -> Frame {
        .transient(Transient(.presence(presence), sender: .named(account)))
    }

    //
    @Test func `the first member → asks for the members of other relays, and reports its own`() {
        var script = RoomScript(busItemByteCount: 4096)
        script.rooms.busReceived(.incomplete(Self.two, before: 1), now: script.now)
        script.join("alice")
        script.rooms.loaded(script.room, RoomSnapshot())
        let items = script.drain().items
        #expect(items.first == .wanted([.lobby]))
        guard case .members(let members)? = items.dropFirst().first else {
            Issue.record("the members are not reported")
            return
        }
        #expect(members.isWhole && members.count == 1 && members.entries.map(\.account) == [.alice])
    }

    //
    @Test func `changes without members at other relays → not reported`() {
        var script = room("alice")
        script.join("bob")
        #expect(script.drain().items == [])
    }

    //
    @Test func `changes with members at other relays → reported with the presence at this relay`() {
        var script = room("alice")
        script.receive([BusMember(.carol, .online)])
        _ = script.drain()
        script.join("bob")
        guard case .members(let members)? = script.drain().items.first else {
            Issue.record("the change is not reported")
            return
        }
        #expect(!members.isWhole && members.count == 2 && members.entries == [BusMember(.bob, .online)])
    }

    // MARK: Progress

    /// A room of alice, who has published four messages, and bob, with carol at relay 2. Nothing was reported for a
    /// while.
    private func filledRoom(_ snapshot: RoomSnapshot = RoomSnapshot()) -> RoomScript {
        var script = room("alice", "bob", snapshot: snapshot)
        script.receive([BusMember(.carol, .online)])
        script.fill("alice", 1...4)
        script.now = script.now + .seconds(1)
        return script
    }

    //
    @Test func `progress after a pause → reported at once; within 100 ms → together, when they are over`() {
        var script = filledRoom()
        script.progress("bob", 1)
        #expect(script.drain().progress == ["bob": AccountProgress(delivered: 1)])
        let first = script.now
        script.progress("bob", 2)
        #expect(script.drain().items == [] && script.rooms.deadline == first + .milliseconds(100))
        script.progress("bob", 3, .read)
        script.progress("alice", 4)
        script.now = first + .milliseconds(99)
        #expect(script.drain().items == [])
        script.now = first + .milliseconds(100)
        let effects = script.drain()
        #expect(effects.items.count == 1)
        #expect(
            effects.progress == ["alice": AccountProgress(delivered: 4), "bob": AccountProgress(delivered: 3, read: 3)])
        script.now = first + .milliseconds(250)
        #expect(script.drain().items == [])
        script.progress("bob", 4)
        #expect(script.drain().progress == ["bob": AccountProgress(delivered: 4, read: 3)])
    }

    //
    @Test func `presence while progress waits → both are reported at once`() {
        var script = filledRoom()
        script.progress("bob", 1)
        _ = script.drain()
        script.progress("bob", 2)
        script.with("alice") { $0.setAway(true, $1) }
        let items = script.drain().items
        guard case .members(let members)? = items.first, items.count == 1 else {
            Issue.record("one item is not reported")
            return
        }
        #expect(members.entries.map(\.presence) == [.away, .online] && members.entries.map(\.delivered) == [0, 2])
        script.now = script.now + .milliseconds(100)
        #expect(script.drain().items == [])
    }

    //
    @Test func `progress waits when the room leaves memory → reported in the same turn`() {
        var snapshot = RoomSnapshot()
        snapshot.memberships[.bob] = MembershipRecord(isJoined: true, changedAt: 1)
        var script = filledRoom(snapshot)
        script.post("alice", 5)
        for name in ["alice", "bob"] { script.with(name) { $0.receive(.leave($1)) } }
        _ = script.drain()
        let read = MembershipCall(
            caller: MemberKey(link: LinkKey(slot: 90, generation: 1), session: SessionID(rawValue: 1)), number: 1,
            who: RoomScript.who("bob"), permissions: .all, room: .lobby, operation: .read(upTo: 2, log: nil))
        script.rooms.receive(.membership(read))
        #expect(script.drain().progress == [:])
        script.store()
        #expect(script.drain().progress == ["bob": AccountProgress(delivered: 2, read: 2)] && script.rooms.count == 0)
    }

    //
    @Test func `a member at another relay joins, is away, and its relay is lost → the members learn it`() {
        var script = room("alice")
        script.receive([BusMember(.bob, .online)])
        #expect(script.drain().about("alice") == [.sentTransient("alice", presence("bob", .online))])
        script.receive([BusMember(.bob, .away)])
        #expect(script.drain().about("alice") == [.sentTransient("alice", presence("bob", .away))])
        script.rooms.busReceived(.lost(Self.two), now: script.now)
        #expect(script.drain().about("alice") == [.sentTransient("alice", presence("bob", .left))])
    }

    //
    @Test func `an account at both relays leaves one → nothing is reported`() {
        var script = room("alice", "bob")
        script.receive([BusMember(.bob, .online)])
        #expect(script.drain().about("alice") == [])
        script.receive([BusMember(.bob, .left)])
        #expect(script.drain().about("alice") == [])
    }

    //
    @Test func `a session that joins → the accounts of all relays`() {
        var script = room("alice")
        script.receive([BusMember(.carol, .online)])
        _ = script.drain()
        script.join("bob")
        let opened = script.drain().compactMap { effect in
            if case .opened("bob", _, _, let members) = effect { members } else { nil }
        }
        #expect(opened == [["alice", "bob", "carol"]])
    }

    //
    @Test func `typing → passed to the other relay if it has members, and to the members here`() {
        var script = room("alice", "bob")
        let typing = Transient(.typing(true), sender: .alice)
        script.rooms.receive(.broadcast(script.handles["alice"]!, Transient(.typing(true))))
        #expect(script.drain().items == [])
        script.receive([BusMember(.carol, .online)])
        _ = script.drain()
        script.rooms.receive(.broadcast(script.handles["alice"]!, Transient(.typing(true))))
        #expect(script.drain().items == [.transient(.lobby, typing)])
        let remote = Transient(.typing(true), sender: .carol)
        script.rooms.busReceived(.item(.transient(.lobby, remote), from: Self.two, number: 9), now: script.now)
        let effects = script.drain()
        #expect(effects.about("alice") == [.sentTransient("alice", .transient(remote))])
        #expect(effects.about("bob") == [.sentTransient("bob", .transient(remote))] && effects.items == [])
    }

    //
    @Test func `a request to a member at another relay → passed there; its answer → the requester, once`() {
        var script = room("alice")
        script.receive([BusMember(.bob, .online)])
        _ = script.drain()
        let request = Request(correlation: 7, method: .locate, deadline: .seconds(9), recipient: .bob)
        script.rooms.receive(.request(script.handles["alice"]!, request), now: script.now)
        guard case .bus(.request(.lobby, let routed), to: Self.two)? = script.drain().first else {
            Issue.record("the request is not passed")
            return
        }
        #expect(routed.sender == .alice && routed.recipient == .bob)
        let answer = BusItem.response(.lobby, Response(correlation: routed.correlation, status: .forbidden))
        script.rooms.busReceived(.item(answer, from: RelayID(rawValue: 3), number: 9), now: script.now)
        #expect(script.drain().about("alice") == [])
        for expected in [1, 0] {
            script.rooms.busReceived(.item(answer, from: Self.two, number: 9), now: script.now)
            let answers = script.drain().about("alice")
            #expect(answers.count == expected)
        }
    }

    //
    @Test func `the relay of a recipient is lost → noRecipient; a cancel → passed there`() {
        var script = room("alice")
        script.receive([BusMember(.bob, .online)])
        _ = script.drain()
        for correlation in [UInt64(7), 8] {
            let request = Request(correlation: correlation, method: .locate, deadline: .seconds(9), recipient: .bob)
            script.rooms.receive(.request(script.handles["alice"]!, request), now: script.now)
        }
        _ = script.drain()
        script.rooms.receive(.cancel(script.handles["alice"]!, correlation: 7))
        guard case .cancel(.lobby, _)? = script.drain().items.first else {
            Issue.record("the cancel is not passed")
            return
        }
        script.rooms.busReceived(.lost(Self.two), now: script.now)
        let response = Frame.response(Response(correlation: 8, status: .noRecipient))
        #expect(script.drain().about("alice").contains(.sent("alice", response)))
    }

    //
    @Test func `a request of a member at another relay → the recipient; its answer → that relay`() {
        var script = room("bob")
        let request = Request(
            correlation: 70, method: .locate, deadline: .seconds(9), recipient: .bob, sender: .alice)
        script.rooms.busReceived(.item(.request(.lobby, request), from: Self.two, number: 9), now: script.now)
        let received = script.drain().compactMap { effect in
            if case .sent("bob", .request(let request)) = effect { request } else { nil }
        }
        #expect(received.map(\.sender) == [.alice])
        let answer = Response(correlation: received.first?.correlation ?? 0)
        script.rooms.receive(.respond(script.handles["bob"]!, answer))
        #expect(script.drain().items == [.response(.lobby, Response(correlation: 70))])
        let other = Request(
            correlation: 71, method: .locate, deadline: .seconds(9), recipient: .carol, sender: .alice)
        script.rooms.busReceived(.item(.request(.lobby, other), from: Self.two, number: 10), now: script.now)
        #expect(script.drain().items == [.response(.lobby, Response(correlation: 71, status: .noRecipient))])
    }

    //
    @Test func `a question about a room that is not in memory → the relay has no members`() {
        var rooms = Rooms(busItemByteCount: 4096)
        rooms.busReceived(.item(.wanted([.hall]), from: Self.two, number: 1), now: .zero)
        guard case .bus(let message)? = rooms.nextEffect(now: .zero), case .members(let members) = message.item else {
            Issue.record("there is no answer")
            return
        }
        #expect(message.to == Self.two && members.isWhole && members.count == 0)
    }
}

extension RoomScript {
    fileprivate mutating func progress(_ name: String, _ offset: UInt64, _ mark: Receipt.Mark = .delivered) {
        with(name) { $0.receive(.progressed($1, Receipt.Progress(mark, upTo: offset))) }
    }

    /// Members of relay 2.
    fileprivate mutating func receive(_ entries: [BusMember], isWhole: Bool = false) {
        let count = UInt32(entries.count { $0.presence != .left })
        let item = BusMembers(room: room, count: count, isWhole: isWhole, entries: entries)
        rooms.busReceived(.item(.members(item), from: RelayID(rawValue: 2), number: 5), now: now)
    }
}

extension [RoomScript.Effect] {
    /// The items for the bus.
    fileprivate var items: [BusItem] {
        compactMap { if case .bus(let item, _) = $0 { item } else { nil } }
    }

    /// The progress that is reported to other relays.
    fileprivate var progress: [String: AccountProgress] {
        let entries = items.flatMap { item in
            if case .members(let members) = item { members.entries } else { [BusMember]() }
        }
        return Dictionary(entries.map { ($0.account.text, $0.progress) }) { $1 }
    }
}
