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

    private func question(_ number: Int) -> RoomAuthorizations.Question {
        .opening(member(number), Open(room: .lobby, cursor: 0))
    }

    // R-53, Specs/hostile.md row 50
    @Test func `questions beyond the bound wait for answers, and those of ended sessions are not asked`() {
        var authorizations = RoomAuthorizations()
        let count = RoomAuthorizations.maxInFlightCount
        var ids: [QuestionID] = []
        for number in 0..<count + 3 {
            ids.append(authorizations.ask(question(number), timeout: .seconds(10), now: start))
        }
        for number in 0..<count { #expect(authorizations.next()?.1.member == member(number)) }
        #expect(authorizations.next() == nil)
        authorizations.sessionEnded(member(count), question: ids[count])
        #expect(authorizations.answered(ids[7])?.member == member(7))
        #expect(authorizations.next()?.1.member == member(count + 1))
        #expect(authorizations.next() == nil)
    }

    // Specs/hostile.md row 50
    @Test func `sessions that end while they wait leave a bounded queue`() {
        var authorizations = RoomAuthorizations()
        for number in 0..<RoomAuthorizations.maxInFlightCount {
            _ = authorizations.ask(question(number), timeout: .seconds(10), now: start)
            _ = authorizations.next()
        }
        for _ in 0..<100_000 {
            let id = authorizations.ask(question(5000), timeout: .seconds(10), now: start)
            authorizations.sessionEnded(member(5000), question: id)
        }
        #expect(authorizations.waitingCount <= 2 * RoomAuthorizations.maxInFlightCount + 16)
    }

    @Test func `a question withdrawn in flight counts until its answer, which has no effect`() {
        var authorizations = RoomAuthorizations()
        let id = authorizations.ask(question(1), timeout: .seconds(10), now: start)
        _ = authorizations.next()
        #expect(authorizations.withdraw(id) == Open(room: .lobby, cursor: 0))
        #expect(authorizations.deadline == nil)
        var check = QuiescenceCheck("test")
        authorizations.check(&check)
        #expect(!check.faults.isEmpty)
        #expect(authorizations.answered(id) == nil)
        check = QuiescenceCheck("test")
        authorizations.check(&check)
        #expect(check.faults.isEmpty)
    }

    @Test func `a question is overdue at its timeout and not before`() {
        var authorizations = RoomAuthorizations()
        _ = authorizations.ask(question(1), timeout: .seconds(10), now: start)
        #expect(authorizations.deadline == start + .seconds(10))
        #expect(authorizations.popOverdue(now: start + .milliseconds(9999)) == nil)
        #expect(authorizations.popOverdue(now: start + .seconds(10))?.member == member(1))
        #expect(authorizations.popOverdue(now: start + .seconds(10)) == nil)
        #expect(authorizations.next() == nil)
    }

    @Test func `a decision expires after its validity, at least one second, unless a new question is asked`() {
        var authorizations = RoomAuthorizations()
        authorizations.setExpiry(of: member(1), after: .zero, now: start)
        authorizations.setExpiry(of: member(2), after: .seconds(5), now: start)
        authorizations.setExpiry(of: member(3), after: .seconds(2), now: start)
        _ = authorizations.ask(question(3), timeout: .seconds(10), now: start)
        #expect(authorizations.popExpired(now: start + .milliseconds(999)) == nil)
        #expect(authorizations.popExpired(now: start + .seconds(1)) == member(1))
        #expect(authorizations.popExpired(now: start + .seconds(9)) == member(2))
        #expect(authorizations.popExpired(now: start + .seconds(9)) == nil)
    }
}
