import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Members of a room and their presence.
@Suite struct RoomTests {
    private func presence(_ to: String, _ who: AccountName, _ presence: Transient.Presence) -> RoomScript.Effect {
        .sentTransient(to, .transient(Transient(.presence(presence), sender: who)))
    }

    // W-56, R-6, R-11
    @Test func `joins before the room is loaded are answered in order when it is loaded`() {
        var script = RoomScript(snapshot: nil)
        script.join("alice")
        script.join("bob", cursor: 2)
        script.join("carol")
        script.withdraw("carol")
        #expect(script.drain() == [.load("lobby")])
        script.rooms.loaded(.lobby, RoomSnapshot(lastOffset: 3, firstOffset: 3))
        let effects = script.drain()
        #expect(effects.first == .opened("alice", head: 3, first: 3, members: ["alice"]))
        #expect(effects.contains(.opened("bob", head: 3, first: 3, members: ["alice", "bob"])))
        #expect(effects.about("carol").isEmpty)
        script.rooms.loaded(.lobby, RoomSnapshot(lastOffset: 99))
        #expect(script.drain().isEmpty)
    }

    @Test func `a failed load resets all sessions, and the next join loads again`() {
        var script = RoomScript(snapshot: nil)
        script.join("alice")
        script.join("bob")
        _ = script.drain()
        script.rooms.loaded(.lobby, nil)
        #expect(script.drain() == [.reset("alice", .storeUnavailable), .reset("bob", .storeUnavailable)])
        #expect(script.rooms.count == 0)
        script.join("carol")
        #expect(script.drain() == [.load("lobby")])
    }

    //
    @Test func `the first join and the last leave of an account are reported to the members`() {
        var script = RoomScript("alice")
        script.join("bob")
        #expect(script.drain().about("alice") == [presence("alice", .bob, .online)])
        script.join("bob/2")
        #expect(script.drain().about("alice").isEmpty)
        script.with("bob") { $0.receive(.leave($1)) }
        #expect(script.drain().isEmpty)
        script.with("bob/2") { $0.receive(.leave($1)) }
        #expect(script.drain() == [presence("alice", .bob, .left)])
        script.with("bob/2") { $0.receive(.leave($1)) }
        #expect(script.drain().isEmpty)
    }

    //
    @Test func `an account is away when all its devices are away`() {
        var script = RoomScript("alice", "bob", "bob/2")
        script.with("bob") { $0.receive(.disconnected($1)) }
        #expect(script.drain().isEmpty)
        script.with("bob/2") { $0.receive(.disconnected($1)) }
        #expect(script.drain() == [presence("alice", .bob, .away)])
        script.with("bob/2") { $0.receive(.disconnected($1)) }
        #expect(script.drain().isEmpty)
        script.with("bob/2") { $0.receive(.leave($1)) }
        #expect(script.drain().isEmpty)
        script.join("bob/3")
        #expect(script.drain().about("alice") == [presence("alice", .bob, .online)])
        script.with("bob/3") { $0.receive(.leave($1)) }
        #expect(script.drain() == [presence("alice", .bob, .away)])
        script.with("bob") { $0.reconnect($1) }
        #expect(script.drain() == [presence("alice", .bob, .online)])
    }

    // R-37, Specs/hostile.md row 44
    @Test func `changes of presence in one turn are combined, and opposite ones are not reported`() {
        var script = RoomScript("alice", "bob", "carol")
        for isAway in [true, false] { script.with("bob") { $0.setAway(isAway, $1) } }
        #expect(script.drain().isEmpty)
        for isAway in [true, false, true] { script.with("bob") { $0.setAway(isAway, $1) } }
        #expect(script.drain() == [presence("alice", .bob, .away), presence("carol", .bob, .away)])
    }

    // R-37, Specs/hostile.md row 44
    @Test func `repeated changes of presence are reported ten times at once, then ten times a second`() {
        var script = RoomScript("alice", "bob")
        script.now = script.now + .seconds(60)
        var toldCount = 0
        for number in 0..<100 {
            script.with("bob") { $0.setAway(number % 2 == 0, $1) }
            toldCount += script.drain().count
        }
        #expect(toldCount == 10)
        for number in 0..<100 {
            script.now = script.now + .milliseconds(10)
            script.with("bob") { $0.setAway(number % 2 == 0, $1) }
            toldCount += script.drain().count
        }
        #expect((15...20).contains(toldCount))
        script.now = script.now + .seconds(1)
        script.with("bob") { $0.reconnect($1) }
        let effects = script.drain()
        #expect(effects.isEmpty || effects == [presence("alice", .bob, .online)])
    }

    //
    @Test func `a member that is away receives messages and no transient frames`() {
        var script = RoomScript("alice", "bob")
        script.with("alice") { $0.receive(.disconnected($1)) }
        _ = script.drain()
        script.join("carol")
        #expect(script.drain().about("alice").isEmpty)
        script.post("bob", 1)
        _ = script.drain()
        script.store()
        #expect(script.drain().offsets(to: "alice") == [1])
    }

    //
    @Test func `a room with more than 256 members reports no presence and a bounded list of members`() {
        var script = RoomScript()
        for number in 0..<RoomMembers.maxPresenceCount { script.join("member\(number)") }
        script.rooms.loaded(.lobby, RoomSnapshot())
        _ = script.drain()
        script.now = script.now + .seconds(60)
        script.join("late")
        let effects = script.drain()
        #expect(effects.count == 1)
        guard case .opened("late", _, _, let members)? = effects.first else {
            Issue.record("the room was not opened")
            return
        }
        #expect(members.count == Opened.maxMemberCount)
        script.with("member3") { $0.receive(.disconnected($1)) }
        #expect(script.drain().isEmpty)
        script.with("late") { $0.receive(.leave($1)) }
        // The member that is away receives nothing.
        #expect(script.drain() == (0..<256).filter { $0 != 3 }.map { presence("member\($0)", .named("late"), .left) })
    }

    @Test func `events of a former member have no effect after its slot is reused`() {
        var script = RoomScript("alice", "bob")
        let old = script.with("bob")
        script.with("bob") { $0.receive(.leave($1)) }
        script.join("carol")
        _ = script.drain()
        if let old {
            script.rooms.receive(.leave(old))
            script.rooms.receive(.setSuspended(old, true, cursor: nil))
            script.rooms.receive(.disconnected(old))
            script.rooms.receive(.setBacklogged(old, true))
            script.rooms.credit(old, byteCount: 5)
            script.rooms.read(ReadID(member: old), [], first: 1)
            script.rooms.receive(.progressed(old, Receipt.Progress(.read, upTo: 1)))
            script.rooms.receive(.broadcast(old, Transient(.typing(true))))
            script.rooms.receive(.respond(old, Response(correlation: 1)))
            script.rooms.receive(.cancel(old, correlation: 1))
            let nothing = ClientMessage(counter: 1, body: RawSpan(), layout: .unknown)
            script.rooms.publish(old, nothing, acceptedAt: 0)
            #expect(script.rooms.state(of: old)?.room == nil)
        }
        // The credit of a message from a member that has left is released (S-38).
        #expect(script.drain() == [.released("bob", 0)])
        script.fill("alice", 1...1)
        #expect(script.with("carol").flatMap { script.rooms.state(of: $0)?.room }?.members == [.alice, .carol])
    }

    @Test func `a room has no deduplication windows for devices that never publish`() {
        var script = RoomScript("alice")
        for number in 2...100 {
            script.join("bob/\(number)")
            script.with("alice") { rooms, _ in _ = rooms.nextEffect(now: .zero) }
        }
        #expect(script.rooms.count == 1)
        var room = RelayRoom(name: .lobby, index: 0)
        var effects = Deque<RoomEffect>()
        _ = room.loaded(RoomSnapshot())
        for number in 0..<10 {
            let key = MemberKey(link: LinkKey(slot: Int32(number), generation: 0), session: SessionID(rawValue: 1))
            let who = DeviceKey(account: .bob, device: DeviceID(rawValue: UInt64(number)))
            room.join(JoinRequest(member: key, who: who, open: Open(room: .lobby, cursor: 0)), into: &effects)
        }
        #expect(room.windows.count == 0)
        #expect(room.window(ofMember: 3, at: 0) == 0)
        #expect(room.window(ofMember: 3, at: 0) == 0)
        #expect(room.windows.count == 1)
    }

    // Specs/hostile.md row 36
    @Test func `an account at its bound of devices → known devices publish, another device is reset with roomFull`() {
        var devices: [DeviceKey: DeviceRecord] = [:]
        for number in 0..<DeduplicationWindows.maxCountPerAccount {
            devices[DeviceKey(account: .carol, device: DeviceID(rawValue: UInt64(number)))] = DeviceRecord(watermark: 5)
        }
        var script = RoomScript(
            "alice", "carol/7", "carol/5000",
            snapshot: RoomSnapshot(lastOffset: 1, firstOffset: 1, devices: devices))
        script.post("carol/7", 6)
        script.post("carol/5000", 1, byteCount: 3)
        script.post("alice", 1, byteCount: 3)
        let effects = script.drain()
        #expect(effects.contains(.append([2, 3])))
        #expect(
            effects.about("carol/5000").prefix(2)
                == [.released("carol/5000", RoomScript.credit(3)), .reset("carol/5000", .roomFull)])
    }

    //
    @Test func `a member beyond the bound is reset with roomFull, also while the room is loading`() {
        var script = RoomScript(snapshot: nil)
        for number in 0..<RoomMembers.maxCount { script.join("m/\(number)") }
        script.join("late")
        #expect(script.drain().contains(.reset("late", .roomFull)))
        var room = RelayRoom(name: .lobby, index: 0)
        var effects = Deque<RoomEffect>()
        _ = room.loaded(RoomSnapshot())
        let open = Open(room: .lobby, cursor: 0)
        for number in 0...RoomMembers.maxCount {
            let key = MemberKey(link: LinkKey(slot: Int32(number), generation: 0), session: SessionID(rawValue: 1))
            effects.removeAll()
            room.join(
                JoinRequest(member: key, who: RoomScript.who("member\(number)"), open: open), into: &effects)
        }
        guard case .reset(_, .roomFull, _)? = effects.first, room.members.count == RoomMembers.maxCount else {
            Issue.record("admitted: \(effects)")
            return
        }
    }

    //
    @Test func `a lost log while the store has an append → the next join waits for its answer, which no room takes`() {
        var script = RoomScript("alice")
        script.post("alice", 1, byteCount: 10)
        _ = script.drain()
        script.rooms.logLost(script.room)
        #expect(script.drain().contains(.released("alice", RoomScript.credit(10))))
        script.join("alice")
        #expect(script.drain() == [.reset("alice", .serverBusy)])
        script.rooms.answered(.append(script.room, upTo: 1, messageCount: 1, .success(1)), at: 0)
        script.join("alice")
        #expect(script.drain() == [.load(script.room.text)])
    }

    //
    @Test func `a lost log → all members are reset, and the next join loads the room again`() {
        var script = RoomScript("alice", "bob", "carol")
        script.post("alice", 1, byteCount: 10)
        _ = script.drain()
        script.post("bob", 1, byteCount: 20)
        script.rooms.logLost(script.room, answered: .append)
        let effects = script.drain()
        for name in ["alice", "bob", "carol"] { #expect(effects.contains(.reset(name, .storeUnavailable))) }
        #expect(effects.contains(.released("alice", RoomScript.credit(10))))
        #expect(effects.contains(.released("bob", RoomScript.credit(20))))
        #expect(script.rooms.count == 0 && script.rooms.memoryByteCount == 0)
        script.join("alice")
        #expect(script.drain() == [.load(script.room.text)])
    }
}
