import MartletWire
import Testing

@testable import MartletProtocol

/// Many rooms beside each other.
@Suite struct RoomsTests {
    @Test func `a room is let go when nobody is in it and nothing waits to be stored`() {
        var script = RoomScript("alice")
        script.post("alice", 1)
        _ = script.drain()
        script.with("alice") { $0.receive(.leave($1)) }
        _ = script.drain()
        #expect(script.rooms.count == 1)
        script.store()
        _ = script.drain()
        #expect(script.rooms.count == 0)
    }

    @Test func `who withdraws from a room that is loading lets it go when it is loaded`() {
        var script = RoomScript(snapshot: nil)
        script.join("alice")
        script.withdraw("alice")
        _ = script.drain()
        #expect(script.rooms.count == 1)
        script.rooms.loaded(.lobby, RoomSnapshot())
        #expect(script.drain().isEmpty)
        #expect(script.rooms.count == 0)
        script.withdraw("alice")
        script.rooms.loaded(.lobby, RoomSnapshot())
        #expect(script.drain().isEmpty)
    }

    @Test func `rooms do not hear of each other, and a place that is taken again knows nothing of before`() {
        var script = RoomScript("alice", "bob")
        script.join("carol", room: .hall)
        script.rooms.loaded(.hall, RoomSnapshot())
        #expect(script.drain() == [.load("hall"), .opened("carol", head: 0, first: 1, members: ["carol"])])
        script.fill("alice", 1...1)
        let now = script.now
        script.with("alice") {
            $0.receive(.request($1, Request(correlation: 1, method: .locate, deadline: .seconds(5))), now: now)
        }
        script.with("alice") { $0.receive(.leave($1)) }
        script.with("bob") { $0.receive(.leave($1)) }
        _ = script.drain()
        #expect(script.rooms.count == 1 && script.rooms.deadline == nil)
        script.join("dave", room: .named("third"))
        script.rooms.loaded(.named("third"), RoomSnapshot())
        script.with("alice") { $0.receive(.leave($1)) }
        #expect(script.drain().suffix(1) == [.opened("dave", head: 0, first: 1, members: ["dave"])])
    }

    //
    @Test func `the number of rooms in memory is bounded`() {
        var rooms = Rooms()
        func join(_ number: Int) -> JoinRequest {
            let key = MemberKey(link: LinkKey(slot: Int32(number), generation: 0), session: SessionID(rawValue: 1))
            return JoinRequest(
                member: key, who: RoomScript.who("alice"), open: Open(room: .named("room \(number)"), cursor: 0))
        }
        for number in 0..<Rooms.maxRooms {
            rooms.receive(.join(join(number)))
            rooms.endTurn()
        }
        while let effect = rooms.nextEffect(now: .zero) {
            guard case .load = effect else {
                Issue.record("only loads were to be seen")
                break
            }
        }
        rooms.receive(.join(join(Rooms.maxRooms)))
        guard case .reset(_, .serverBusy)? = rooms.nextEffect(now: .zero) else {
            Issue.record("the room was let in")
            return
        }
        #expect(rooms.count == Rooms.maxRooms)
    }

    /// Two runs of the same script in one process hash alike, so this compares with what another process wrote down:
    /// tables that decide the order of effects would show here as a difference from run to run.
    @Test func `effects follow the order of events and not how tables hash`() {
        var script = RoomScript()
        let names = ["dora", "carl", "berta", "anna", "emil"]
        for name in names { script.join(name) }
        script.rooms.loaded(.lobby, RoomSnapshot(watermarks: [RoomScript.who("anna"): 3, RoomScript.who("emil"): 9]))
        #expect(script.drain().compactMap { if case .opened(let name, _, _, _) = $0 { name } else { nil } } == names)
        for name in names { script.post(name, 20) }
        _ = script.drain()
        script.store()
        #expect(
            script.drain().compactMap { if case .told(let name, .accepted) = $0 { name } else { nil } } == names)
        for name in names.reversed() {
            script.with(name) { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 5))) }
            let told = script.drain().compactMap { if case .told(let name, .receipt) = $0 { name } else { nil } }
            #expect(told == names.filter { $0 != name })
        }
        script.join("fritz", cursor: 5)
        let marks = script.drain().compactMap { effect -> String? in
            if case .told("fritz", .receipt(.progress(let progress))) = effect { progress.sender?.text } else { nil }
        }
        #expect(marks == names.sorted())
        for name in names { script.post(name, 21) }
        _ = script.drain()
        script.failStore()
        #expect(script.drain().compactMap { if case .reset(let name, _) = $0 { name } else { nil } } == names)
    }
}
