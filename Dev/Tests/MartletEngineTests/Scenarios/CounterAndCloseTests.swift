import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Skipped counters, counters far ahead, and members that close with pending messages.
@Suite struct CounterAndCloseTests {
    private func refused(_ name: String, _ counter: UInt64, _ code: ErrorCode) -> RoomScript.Effect {
        .sent(name, .receipt(.refused(Receipt.Refusal(counter: counter, code: code))))
    }

    // R-20, Specs/hostile.md row 40
    @Test func `each old counter of a burst is accepted or refused`() {
        var script = RoomScript("alice")
        for counter in [1, 1000, 1, 1000, 5] as [UInt64] { script.post("alice", counter) }
        let posted = script.drain()
        #expect(posted.contains(refused("alice", 5, .counterTooOld)))
        script.store()
        #expect(
            script.drain().accepted(by: "alice") == [
                AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1),
                AcceptedRun(firstCounter: 1000, count: 1, firstOffset: 2),
            ])
        script.post("alice", 6)
        #expect(
            script.drain().about("alice") == [
                .released("alice", RoomScript.credit(1)), refused("alice", 6, .counterTooOld),
            ])
    }

    // R-16, Specs/hostile.md row 40
    @Test func `a counter far ahead is refused, and does not make the next ones too old`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...3)
        script.post("alice", 1 << 40)
        script.post("alice", 4)
        let effects = script.drain()
        #expect(effects.contains(refused("alice", 1 << 40, .invalidValue)))
        #expect(effects.contains(.append([4])))
    }

    // Specs/hostile.md row 94
    @Test func `a counter that was taken for another message is refused, and so are all later messages`() {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...3)
        script.post("alice", 2)
        script.post("alice", 3, byteCount: 9)
        script.post("alice", 4)
        let effects = script.drain()
        #expect(
            effects.about("alice").filter { if case .sent = $0 { true } else { false } } == [
                refused("alice", 3, .counterReused), refused("alice", 4, .counterReused),
                .sent("alice", .accepted(Accepted(runs: [AcceptedRun(firstCounter: 2, count: 1, firstOffset: 2)]))),
            ])
        #expect(!effects.contains(.append([4])))
        // Another session of the device begins anew.
        script.with("alice") { $0.receive(.leave($1)) }
        script.join("alice")
        _ = script.drain()
        script.post("alice", 4)
        #expect(script.drain().contains(.append([4])))
    }

    //
    @Test func `a counter on its way to the store, with another message → refused`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1)
        _ = script.drain()
        script.post("alice", 1, byteCount: 9)
        #expect(script.drain().contains(refused("alice", 1, .counterReused)))
        script.store()
        #expect(script.drain().offsets(to: "bob") == [1])
    }

    // S-38
    @Test func `the credit of a message from a member that has left is released`() {
        var script = RoomScript("alice", "bob")
        script.with("alice") { $0.receive(.leave($1)) }
        _ = script.drain()
        script.post("alice", 1)
        #expect(script.drain() == [.released("alice", RoomScript.credit(1))])
    }

    // S-7, R-49
    @Test func `a close behind messages is answered after they were accepted`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1)
        script.post("alice", 2)
        script.with("alice") { $0.receive(.close($1)) }
        let closing = script.drain()
        #expect(closing.contains(.append([1, 2])))
        #expect(!closing.contains(.closed("alice")))
        script.store()
        let effects = script.drain()
        #expect(
            effects.about("alice").suffix(2) == [
                .sent("alice", .accepted(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1)]))),
                .closed("alice"),
            ])
        #expect(effects.offsets(to: "alice").isEmpty && effects.offsets(to: "bob") == [1, 2])
    }

    //
    @Test func `a close without pending messages is answered at once`() {
        var script = RoomScript("alice")
        script.with("alice") { $0.receive(.close($1)) }
        #expect(script.drain() == [.closed("alice")])
        #expect(script.rooms.count == 0)
    }

    //
    @Test func `a close behind messages of a failed append is answered by a reset`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1)
        script.with("alice") { $0.receive(.close($1)) }
        _ = script.drain()
        script.failStore()
        #expect(script.drain().about("alice").contains(.reset("alice", .storeUnavailable)))
    }

    //
    @Test func `a close behind a copy that another session repeats is answered when the store fails`() {
        // Three sessions of one device.
        var script = RoomScript("alice", "alice/01", "alice/001")
        script.post("alice", 1)
        script.post("alice/01", 1)
        script.with("alice/01") { $0.receive(.close($1)) }
        script.post("alice/001", 1)
        #expect(!script.drain().contains(.closed("alice/01")))
        script.failStore()
        let effects = script.drain()
        #expect(effects.about("alice/01") == [.closed("alice/01")])
        for name in ["alice", "alice/001"] { #expect(effects.contains(.reset(name, .storeUnavailable))) }
        #expect(script.rooms.count == 0)
    }
}
