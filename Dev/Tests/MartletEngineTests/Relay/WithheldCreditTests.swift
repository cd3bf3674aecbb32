import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct WithheldCreditTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    //
    @Test func `credit of sessions → returned as one sum for each, at the latest instant of the session`() {
        let link = LinkKey(slot: 1, generation: 1)
        let first = MemberKey(link: link, session: .first)
        let second = MemberKey(link: link, session: .second)
        var withheld = WithheldCredit()
        #expect(withheld.deadline == nil)
        withheld.add(10, of: first, until: Self.start + .seconds(1))
        withheld.add(5, of: second, until: Self.start + .seconds(2))
        withheld.add(20, of: first, until: Self.start + .seconds(3))
        #expect(withheld.deadline == Self.start + .seconds(2))
        #expect(withheld.popDue(now: Self.start + .seconds(1)) == nil)
        let early = withheld.popDue(now: Self.start + .seconds(2))
        #expect(early?.member == second && early?.byteCount == 5)
        #expect(withheld.popDue(now: Self.start + .seconds(2)) == nil)
        let late = withheld.popDue(now: Self.start + .seconds(3))
        #expect(late?.member == first && late?.byteCount == 30)
        #expect(withheld.deadline == nil)
    }
}
