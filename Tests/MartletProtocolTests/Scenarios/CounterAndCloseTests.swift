import MartletWire
import Testing

@testable import MartletProtocol

/// Counters that are passed over or far ahead, and members that leave with messages on their way to the store.
@Suite struct CounterAndCloseTests {
    private func refused(_ name: String, _ counter: UInt64, _ code: ErrorCode) -> RoomScript.Effect {
        .told(name, .receipt(.refused(Receipt.Refusal(counter: counter, code: code))))
    }

    // R-20, Specs/hostile.md row 40
    @Test func `row 40: old counters in one burst are accepted or refused, each of them`() {
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
    @Test func `row 40: a counter far ahead is refused and does not make the next ones old`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...3)
        script.post("alice", 1 << 40)
        script.post("alice", 4)
        let effects = script.drain()
        #expect(effects.contains(refused("alice", 1 << 40, .invalidValue)))
        #expect(effects.contains(.append([4])))
    }

    // S-38
    @Test func `a message for a room that its poster has left gives its credit back`() {
        var script = RoomScript("alice", "bob")
        script.with("alice") { $0.receive(.leave($1)) }
        _ = script.drain()
        script.post("alice", 1)
        #expect(script.drain() == [.released("alice", RoomScript.credit(1))])
    }

    // S-7, R-49
    @Test func `a member that closes behind its messages is told of them before its session ends`() {
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
                .told("alice", .accepted(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1)]))),
                .closed("alice"),
            ])
        #expect(effects.offsets(to: "alice").isEmpty && effects.offsets(to: "bob") == [1, 2])
    }

    //
    @Test func `a member that closes with nothing on its way ends at once`() {
        var script = RoomScript("alice")
        script.with("alice") { $0.receive(.close($1)) }
        #expect(script.drain() == [.closed("alice")])
        #expect(script.rooms.count == 0)
    }

    //
    @Test func `a member that closes behind messages that are not stored is reset`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1)
        script.with("alice") { $0.receive(.close($1)) }
        _ = script.drain()
        script.failStore()
        #expect(script.drain().about("alice").contains(.reset("alice", .storeUnavailable)))
    }

    //
    @Test func `a member that closes behind a copy which another session repeats is closed when the store fails`() {
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
