import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct SoakLedgerTests {
    private func ledger(_ messages: [(offset: UInt64, sender: Int?, number: Int?)]) -> SoakLedger {
        var ledger = SoakLedger()
        for message in messages {
            ledger.record(offset: message.offset, sender: message.sender, number: message.number)
        }
        return ledger
    }

    @Test func `messages received once and in order are neither lost nor duplicated`() {
        var fine = ledger([(1, 7, 1), (2, 8, 1), (3, 7, 2)])
        fine.finish(lastOffset: 3)
        #expect(fine.receivedCount == 3)
        #expect(fine.lostCount == 0 && fine.duplicateCount == 0)
    }

    @Test func `a skipped offset, a skipped number and a missing end are losses`() {
        #expect(ledger([(1, 7, 1), (3, 8, 1)]).lostCount == 1)
        #expect(ledger([(1, 7, 1), (2, 7, 3)]).lostCount == 1)
        #expect(ledger([(1, nil, nil)]).lostCount == 1)
        var short = ledger([(1, 7, 1)])
        short.finish(lastOffset: 4)
        #expect(short.lostCount == 3)
    }

    @Test func `a repeated offset or number is a duplicate`() {
        #expect(ledger([(1, 7, 1), (1, 7, 1)]).duplicateCount == 1)
        #expect(ledger([(1, 7, 1), (2, 7, 1)]).duplicateCount == 1)
        #expect(ledger([(2, 7, 1), (1, 8, 1)]).duplicateCount == 1)
    }
}
