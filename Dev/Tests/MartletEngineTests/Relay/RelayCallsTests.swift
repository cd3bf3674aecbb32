import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RelayCallsTests {
    private let start = Instant(nanoseconds: 0)

    private func member(_ number: Int) -> MemberKey {
        MemberKey(
            link: LinkKey(slot: Int32(number), generation: 1, loop: 0), session: SessionID(rawValue: 1))
    }

    private func handle(_ number: Int) -> MemberHandle {
        MemberHandle(room: 0, slot: Int32(number), key: member(number))
    }

    private func ask(_ number: Int, in calls: inout RelayCalls) -> RelayCallID {
        let question = RoomAuthorizations.Question.session(member(number), Open(room: .lobby, cursor: 0))
        return calls.enqueue(question, timeout: .seconds(10), now: start)
    }

    private func asked(_ waiter: RelayCalls.Waiter?) -> MemberKey? {
        if case .decision(let question)? = waiter { question.member } else { nil }
    }

    private func faults(_ calls: RelayCalls) -> [String] {
        var check = QuiescenceCheck("test")
        calls.check(&check)
        return check.faults
    }

    // R-53, Specs/hostile.md row 50
    @Test func `questions beyond the bound wait for answers, and those of ended sessions are not asked`() {
        var calls = RelayCalls(maxRequestCount: 1)
        let count = RelayCalls.maxDecisionCount
        let ids = (0..<count + 3).map { ask($0, in: &calls) }
        for number in 0..<count { #expect(calls.next()?.1.member == member(number)) }
        #expect(calls.next() == nil)
        calls.withdraw(ids[count])
        #expect(asked(calls.completed(ids[7])) == member(7))
        #expect(calls.next()?.1.member == member(count + 1))
        #expect(calls.next() == nil)
    }

    // Specs/hostile.md row 50
    @Test func `sessions that end while they wait leave a bounded queue`() {
        var calls = RelayCalls(maxRequestCount: 1)
        for number in 0..<RelayCalls.maxDecisionCount {
            _ = ask(number, in: &calls)
            _ = calls.next()
        }
        for _ in 0..<100_000 {
            let id = ask(5000, in: &calls)
            calls.withdraw(id)
        }
        #expect(calls.queuedCount <= 2 * RelayCalls.maxDecisionCount + 16)
    }

    @Test func `a question withdrawn in flight counts until its answer, which has no effect`() {
        var calls = RelayCalls(maxRequestCount: 1)
        let id = ask(1, in: &calls)
        _ = calls.next()
        #expect(asked(calls.withdraw(id)) == member(1))
        #expect(calls.deadline == nil)
        #expect(calls.count(.decision) == 1)
        #expect(!faults(calls).isEmpty)
        #expect(calls.completed(id) == nil)
        #expect(calls.count(.decision) == 0)
        #expect(faults(calls).isEmpty)
    }

    @Test func `a question is overdue at its timeout and not before`() {
        var calls = RelayCalls(maxRequestCount: 1)
        _ = ask(1, in: &calls)
        #expect(calls.deadline == start + .seconds(10))
        #expect(calls.popOverdue(now: start + .milliseconds(9999)) == nil)
        #expect(asked(calls.popOverdue(now: start + .seconds(10))) == member(1))
        #expect(calls.popOverdue(now: start + .seconds(10)) == nil)
        #expect(calls.next() == nil)
        #expect(faults(calls).isEmpty)
    }

    @Test func `a question overdue in flight counts until its answer, which has no effect`() {
        var calls = RelayCalls(maxRequestCount: 1)
        let id = ask(1, in: &calls)
        _ = calls.next()
        #expect(asked(calls.popOverdue(now: start + .seconds(10))) == member(1))
        #expect(calls.count(.decision) == 1)
        #expect(calls.completed(id) == nil)
        #expect(faults(calls).isEmpty)
    }

    @Test func `a request beyond the bound is not made, until one of a room or an account has its result`() throws {
        var calls = RelayCalls(maxRequestCount: 2)
        let (first, second) = (
            calls.begin(.request(handle(1), number: 1)), calls.begin(.accountRequest(member(2), number: 1))
        )
        #expect(calls.begin(.request(handle(3), number: 1)) == nil)
        guard case .request(handle(1), number: 1)? = calls.completed(try #require(first)) else {
            Issue.record("the first request waits")
            return
        }
        #expect(calls.begin(.accountRequest(member(3), number: 1)) != nil)
        #expect(calls.begin(.request(handle(4), number: 1)) == nil)
        guard case .accountRequest(member(2), number: 1)? = calls.completed(try #require(second)) else {
            Issue.record("the second request waits")
            return
        }
    }

    @Test func `calls in flight of one kind leave the bounds of the others`() {
        var calls = RelayCalls(maxRequestCount: 1)
        for number in 0...RelayCalls.maxDecisionCount { _ = ask(number, in: &calls) }
        while calls.next() != nil {}
        #expect(calls.begin(.request(handle(1), number: 1)) != nil)
        for number in 0..<2 * RelayCalls.maxDecisionCount {
            let id = AttachmentCallID(session: handle(1), number: UInt64(number))
            #expect(calls.begin(.attachment(id)) != nil)
        }
        #expect(calls.count(.decision) == RelayCalls.maxDecisionCount)
        #expect(calls.count(.answer) == 1)
        #expect(calls.count(.attachment) == 2 * RelayCalls.maxDecisionCount)
    }
}
