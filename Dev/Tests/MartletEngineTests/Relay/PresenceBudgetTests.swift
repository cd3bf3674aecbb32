import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct PresenceBudgetTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    // R-37, Specs/hostile.md row 44
    @Test func `512 frames in a turn, 4,096 at once, and 40,960 in a second thereafter`() {
        var budget = PresenceBudget()
        for _ in 0..<8 {
            #expect(budget.take(16, costing: 200, now: start) == 2)
            #expect(budget.take(200, costing: 1, now: start) == 112)
            #expect(budget.take(1, costing: 1, now: start) == 0)
            budget.endTurn()
        }
        #expect(budget.take(1, costing: 1, now: start) == 0)
        #expect(budget.availableAt(256) > start && budget.availableAt(256) <= start + .milliseconds(7))
        var count = 0
        for millisecond in 1...1000 {
            count += budget.take(512, costing: 1, now: start + .milliseconds(millisecond))
            budget.endTurn()
        }
        #expect(count >= 40_900 && count <= 40_960)
    }

    // R-37, Specs/hostile.md row 44
    @Test func `row 44, twenty rooms whose members come and go → at most 512 frames in a turn, and each is sent`() {
        var script = RoomScript(snapshot: nil)
        let rooms = (0..<20).map { RoomName.named("room\($0)") }
        for room in rooms {
            for number in 0..<20 { script.join("m\(number)-\(room.text)", room: room) }
            _ = script.drain()
            script.rooms.loaded(room, RoomSnapshot())
        }
        for _ in 0..<5 {
            _ = script.drain()
            script.now = script.now + .seconds(1)
        }
        for room in rooms {
            for number in 0..<10 { script.with("m\(number)-\(room.text)") { $0.receive(.disconnected($1)) } }
        }
        var sent = 0
        for _ in 0..<20 {
            let effects = script.drainTurn()
            let frames = effects.count { if case .sentTransient = $0 { true } else { false } }
            #expect(frames <= PresenceBudget.maxTurnFrames)
            sent += frames
            script.rooms.endTurn()
            script.rooms.deadlinePassed(now: script.now)
        }
        // Ten members of each room have a connection.
        #expect(sent == 20 * 10 * 10)
    }
}
