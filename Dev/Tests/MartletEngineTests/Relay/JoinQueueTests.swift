import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// The sessions that join in a turn.
@Suite struct JoinQueueTests {
    //
    @Test func `of 40 sessions 16 join in each turn, in order, without a withdrawn one`() {
        var script = RoomScript("alice")
        for number in 0..<40 { script.join("member\(number)") }
        script.withdraw("member20")
        var joined: [[String]] = []
        while true {
            let names = script.drainTurn().compactMap { effect -> String? in
                if case .opened(let name, _, _, _) = effect { name } else { nil }
            }
            if names.isEmpty { break }
            joined.append(names)
            script.rooms.endTurn()
            script.rooms.deadlinePassed(now: script.now)
        }
        let expected = (0..<40).filter { $0 != 20 }.map { "member\($0)" }
        #expect(joined == [Array(expected[..<16]), Array(expected[16..<32]), Array(expected[32...])])
        #expect(script.rooms.deadline.map { $0 > script.now } != false)
    }

    //
    @Test func `40 sessions that wait for a load all join`() {
        var script = RoomScript(snapshot: nil)
        for number in 0..<40 { script.join("member\(number)") }
        #expect(script.drain() == [.load("lobby")])
        script.rooms.loaded(.lobby, RoomSnapshot())
        #expect(script.drain().count { if case .opened = $0 { true } else { false } } == 40)
        #expect(script.rooms.count == 1)
    }

    //
    @Test func `a join while 4 sessions wait for the next turn follows behind them`() {
        var script = RoomScript("alice")
        for number in 0..<20 { script.join("member\(number)") }
        _ = script.drainTurn()
        script.rooms.endTurn()
        script.join("late")
        script.rooms.deadlinePassed(now: script.now)
        let joined = script.drainTurn().compactMap { effect -> String? in
            if case .opened(let name, _, _, _) = effect { name } else { nil }
        }
        #expect(joined == (16..<20).map { "member\($0)" } + ["late"])
    }
}
