import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RoomAuthorizationsTests {
    private let start = Instant(nanoseconds: 0)

    private func member(_ number: Int) -> MemberKey {
        MemberKey(
            link: LinkKey(slot: Int32(number), generation: 1, loop: 0), session: SessionID(rawValue: 1))
    }

    @Test func `a decision expires after its validity, at least one second, unless a new question is asked`() {
        var authorizations = RoomAuthorizations()
        authorizations.setExpiry(of: member(1), after: .zero, now: start)
        authorizations.setExpiry(of: member(2), after: .seconds(5), now: start)
        authorizations.setExpiry(of: member(3), after: .seconds(2), now: start)
        authorizations.cancelExpiry(of: member(3))
        #expect(authorizations.popExpired(now: start + .milliseconds(999)) == nil)
        #expect(authorizations.popExpired(now: start + .seconds(1)) == member(1))
        #expect(authorizations.popExpired(now: start + .seconds(9)) == member(2))
        #expect(authorizations.popExpired(now: start + .seconds(9)) == nil)
    }
}
