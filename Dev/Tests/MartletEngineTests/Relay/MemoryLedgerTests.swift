import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct MemoryLedgerTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    @Test func `a ledger within the budget evicts nothing, and one beyond it evicts down to seven eighths`() {
        var ledger = MemoryLedger(budget: 800)
        #expect(ledger.check(800, now: Self.start) == .fits)
        #expect(ledger.check(801, now: Self.start) == .evict(to: 700))
    }

    @Test func `a ledger less than a sixteenth beyond the budget evicts nothing within 50 ms after an eviction`() {
        var ledger = MemoryLedger(budget: 800)
        _ = ledger.check(900, now: Self.start)
        ledger.evicted(remaining: 700)
        #expect(ledger.check(850, now: Self.start + .milliseconds(49)) == .wait)
        #expect(!ledger.isFull)
        #expect(ledger.check(850, now: Self.start + .milliseconds(50)) == .evict(to: 700))
    }

    @Test func `a ledger a sixteenth beyond the budget evicts at once and is not full`() {
        var ledger = MemoryLedger(budget: 800)
        _ = ledger.check(900, now: Self.start)
        ledger.evicted(remaining: 700)
        #expect(ledger.check(851, now: Self.start + .milliseconds(1)) == .evict(to: 700))
        #expect(!ledger.isFull)
    }

    @Test func `a ledger beyond the budget after an eviction is full until it is within the budget`() {
        var ledger = MemoryLedger(budget: 800)
        _ = ledger.check(900, now: Self.start)
        ledger.evicted(remaining: 801)
        #expect(ledger.isFull)
        #expect(ledger.check(900, now: Self.start + .milliseconds(49)) == .wait && ledger.isFull)
        #expect(ledger.check(900, now: Self.start + .milliseconds(50)) == .evict(to: 700))
        #expect(ledger.check(800, now: Self.start + .milliseconds(51)) == .fits && !ledger.isFull)
    }

    //
    @Test func `memory is short when an eviction leaves more than fifteen sixteenths, until an eighth is free`() {
        var ledger = MemoryLedger(budget: 800)
        _ = ledger.check(900, now: Self.start)
        ledger.evicted(remaining: 750)
        #expect(!ledger.isShort)
        ledger.evicted(remaining: 751)
        #expect(ledger.isShort && !ledger.isFull)
        #expect(ledger.check(701, now: Self.start) == .fits && ledger.isShort)
        #expect(ledger.check(700, now: Self.start) == .fits && !ledger.isShort)
    }

    @Test func `an eviction that ended a link continues in the next turn and not in this one`() {
        var ledger = MemoryLedger(budget: 800)
        #expect(ledger.check(900, now: Self.start) == .evict(to: 700))
        ledger.linkEnded()
        #expect(ledger.check(790, now: Self.start) == .wait && ledger.continues)
        ledger.endTurn()
        #expect(ledger.check(790, now: Self.start) == .continueEviction(to: 700))
        ledger.evicted(remaining: 700)
        #expect(ledger.check(700, now: Self.start) == .fits && !ledger.continues)
    }
}
