import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct HistoryReadsTests {
    private func member(_ slot: Int32) -> MemberHandle {
        let key = MemberKey(link: LinkKey(slot: slot, generation: 1), session: .first)
        return MemberHandle(room: 0, slot: slot, key: key)
    }

    private var read: HistoryRead { HistoryRead(HistoryQuery(.before(.max), limit: 5), first: 1, last: 9) }

    /// The offsets of an answer; nil for another step.
    private func answer(_ step: HistoryRead.Step?) -> [UInt64]? {
        guard case .answer(let entries, _)? = step else { return nil }
        return entries.map(\.offset)
    }

    private func isQuiet(_ reads: HistoryReads) -> Bool {
        var check = QuiescenceCheck("reads")
        reads.check(&check)
        return check.faults.isEmpty
    }

    // R-84, Specs/hostile.md row 74
    @Test func `a member has two places, which end with the answer or the end of the request`() {
        var reads = HistoryReads()
        _ = reads.begin(1, read, for: member(1))
        #expect(!reads.isFull(member(1)))
        _ = reads.begin(2, read, for: member(1))
        #expect(reads.isFull(member(1)) && !reads.isFull(member(2)))
        reads.end(1, for: member(2))
        #expect(reads.isFull(member(1)))
        reads.end(1, for: member(1))
        #expect(!reads.isFull(member(1)) && !isQuiet(reads))
        // The log has lost its messages, so the read is answered.
        #expect(answer(reads.read(2, for: member(1), [], first: 10)) == [])
        #expect(isQuiet(reads))
    }

    @Test func `a result for another member or an unknown request gives no step`() {
        var reads = HistoryReads()
        _ = reads.begin(1, read, for: member(1))
        #expect(reads.read(1, for: member(2), [], first: 10).map { _ in true } == nil)
        #expect(reads.read(2, for: member(1), [], first: 10).map { _ in true } == nil)
        #expect(!isQuiet(reads))
    }

    @Test func `a page that needs no read takes no place`() {
        var reads = HistoryReads()
        let empty = HistoryRead(HistoryQuery(.after(9), limit: 5), first: 1, last: 9)
        #expect(answer(reads.begin(1, empty, for: member(1))) == [])
        #expect(isQuiet(reads))
    }
}
