import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite
struct PendingUpdatesTests {
    //
    @Test("several changes of a room are one update with the highest progress")
    func coalesced() {
        var pending = PendingUpdates()
        pending.note(.lobby, AccountProgress(delivered: 5, read: 1))
        pending.note(.hall, AccountProgress())
        pending.note(.lobby, AccountProgress(delivered: 3, read: 2))
        #expect(pending.take() == [.lobby: AccountProgress(delivered: 5, read: 2), .hall: AccountProgress()])
        #expect(pending.isEmpty)
    }

    // R-130, Specs/hostile.md row 76
    @Test("more rooms than the maximum are one request to list again")
    func overflow() {
        var pending = PendingUpdates()
        for number in 0...PendingUpdates.maxCount { pending.note(.named("room \(number)"), AccountProgress()) }
        #expect(pending.listsAgain && pending.take().isEmpty)
        pending.note(.lobby, AccountProgress())
        #expect(pending.takeListAgain() && pending.isEmpty && !pending.takeListAgain())
    }

    @Test("a step takes the first rooms")
    func steps() {
        var pending = PendingUpdates()
        for number in 0..<10 { pending.note(.named("room \(number)"), AccountProgress()) }
        #expect(pending.take().count == PendingUpdates.maxStepCount)
        #expect(pending.take().keys.map(\.text).sorted() == ["room 8", "room 9"])
    }
}
