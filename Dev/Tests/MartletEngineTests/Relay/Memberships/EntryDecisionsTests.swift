import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct EntryDecisionsTests {
    private let now = Instant(nanoseconds: 1_000_000_000)
    private let attic = RoomName("attic")

    //
    @Test func `a decision is known for its validity, a refusal for a second, and a failure not at all`() {
        var decisions = EntryDecisions()
        decisions.note(.lobby, .granted(.publish, validFor: .seconds(5)), now: now)
        decisions.note(.hall, .refused, now: now)
        decisions.note(attic, nil, now: now)
        #expect(decisions[.lobby] == .publish && decisions[.hall] == nil && decisions[attic] == nil)
        let known = [0, 999, 1000, 4999, 5000].map { milliseconds in
            [RoomName.lobby, .hall, attic].map { decisions.isKnown($0, now: now + .milliseconds(milliseconds)) }
        }
        #expect(
            known == [
                [true, true, false], [true, true, false], [true, false, false], [true, false, false],
                [false, false, false],
            ])
        decisions.note(.lobby, .granted(.all), now: now)
        #expect(decisions.isKnown(.lobby, now: .distantFuture + .seconds(-1)))
    }

    @Test func `a change of the policy discards all decisions and begins a generation`() {
        var decisions = EntryDecisions()
        decisions.note(.lobby, .granted(.all), now: now)
        decisions.removeAll()
        #expect(!decisions.isKnown(.lobby, now: now) && decisions[.lobby] == nil && decisions.generation == 1)
    }

    //
    @Test func `beyond 256 rooms the decisions are discarded together`() throws {
        var decisions = EntryDecisions()
        let rooms = try (0...EntryDecisions.maxCount).map { try #require(RoomName("room \($0)")) }
        for room in rooms { decisions.note(room, .granted(.all), now: now) }
        #expect(rooms.count { decisions.isKnown($0, now: now) } == 1)
    }
}
