import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite("Changes of a room")
struct RoomChangesTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    //
    @Test("messages and progress are reported at once, and not again for 100 ms")
    func interval() {
        var changes = RoomChanges()
        changes.begin(at: 5)
        #expect(changes.deadline(5) == nil)
        #expect(changes.take(6, isLast: false, now: start) == .all)
        changes.note(.bob)
        changes.note(.alice)
        #expect(changes.deadline(6) == start + .milliseconds(100))
        #expect(changes.take(6, isLast: false, now: start + .milliseconds(99)) == .none)
        #expect(changes.take(6, isLast: false, now: start + .milliseconds(100)) == .some([.alice, .bob]))
        #expect(changes.deadline(6) == nil)
        #expect(changes.take(7, isLast: false, now: start + .milliseconds(150)) == .none)
        #expect(changes.take(7, isLast: true, now: start + .milliseconds(150)) == .all)
    }
}
