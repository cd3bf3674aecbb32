import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Several rooms.
@Suite struct RoomsTests {
    @Test func `a room is removed when it has no members and no pending messages`() {
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

    @Test func `a room whose join is withdrawn while it loads is removed when it is loaded`() {
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

    @Test func `rooms do not affect each other, and a reused slot has no earlier state`() {
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
    @Test func `a room beyond the bound is refused with serverBusy`() {
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
            guard case .store(.load) = effect else {
                Issue.record("an effect other than a load")
                break
            }
        }
        rooms.receive(.join(join(Rooms.maxRooms)))
        guard case .reset(_, .serverBusy, _)? = rooms.nextEffect(now: .zero) else {
            Issue.record("the room was not refused")
            return
        }
        #expect(rooms.count == Rooms.maxRooms)
    }

    /// Hash seeds differ between processes. The test would fail in some runs if hashes determined an order.
    @Test func `the order of effects follows the events and not the hashes`() {
        var script = RoomScript()
        let names = ["dora", "carl", "berta", "anna", "emil"]
        for name in names { script.join(name) }
        script.rooms.loaded(
            .lobby,
            RoomSnapshot(devices: [
                RoomScript.who("anna"): DeviceRecord(watermark: 3), RoomScript.who("emil"): DeviceRecord(watermark: 9),
            ]))
        #expect(script.drain().compactMap { if case .opened(let name, _, _, _) = $0 { name } else { nil } } == names)
        for name in names { script.post(name, 20) }
        _ = script.drain()
        script.store()
        #expect(
            script.drain().compactMap { if case .sent(let name, .accepted) = $0 { name } else { nil } } == names)
        for name in names.reversed() {
            script.with(name) { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 5))) }
            let told = script.drain().compactMap { if case .sent(let name, .receipt) = $0 { name } else { nil } }
            #expect(told == names.filter { $0 != name })
        }
        script.join("fritz", cursor: 5)
        let marks = script.drain().compactMap { effect -> String? in
            if case .sent("fritz", .receipt(.progress(let progress))) = effect { progress.sender?.text } else { nil }
        }
        #expect(marks == names.sorted())
        for name in names { script.post(name, 21) }
        _ = script.drain()
        script.failStore()
        #expect(script.drain().compactMap { if case .reset(let name, _) = $0 { name } else { nil } } == names)
    }
}
