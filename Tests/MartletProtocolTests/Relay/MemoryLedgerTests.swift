import Testing

@testable import MartletProtocol

@Suite struct MemoryLedgerTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    @Test func `within the budget nothing gives way, beyond it down to seven eighths`() {
        var ledger = MemoryLedger(budget: 800)
        #expect(ledger.check(800, now: Self.start) == .fits)
        #expect(ledger.check(801, now: Self.start) == .giveWay(to: 700))
    }

    @Test func `within 50 ms after memory was freed nothing gives way for less than a sixteenth`() {
        var ledger = MemoryLedger(budget: 800)
        _ = ledger.check(900, now: Self.start)
        ledger.relieved(700)
        #expect(ledger.check(850, now: Self.start + .milliseconds(49)) == .wait)
        #expect(!ledger.isFull)
        #expect(ledger.check(850, now: Self.start + .milliseconds(50)) == .giveWay(to: 700))
    }

    @Test func `a sixteenth beyond the budget gives way at once and refuses nothing`() {
        var ledger = MemoryLedger(budget: 800)
        _ = ledger.check(900, now: Self.start)
        ledger.relieved(700)
        #expect(ledger.check(851, now: Self.start + .milliseconds(1)) == .giveWay(to: 700))
        #expect(!ledger.isFull)
    }

    @Test func `a ledger that stays beyond the budget after giving way is full until it is within it`() {
        var ledger = MemoryLedger(budget: 800)
        _ = ledger.check(900, now: Self.start)
        ledger.relieved(801)
        #expect(ledger.isFull)
        #expect(ledger.check(900, now: Self.start + .milliseconds(49)) == .wait && ledger.isFull)
        #expect(ledger.check(900, now: Self.start + .milliseconds(50)) == .giveWay(to: 700))
        #expect(ledger.check(800, now: Self.start + .milliseconds(51)) == .fits && !ledger.isFull)
    }
}
