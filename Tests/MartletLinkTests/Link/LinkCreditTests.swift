import MartletWire
import Testing

@testable import MartletLink

@Suite struct LinkCreditTests {
    // S-11
    @Test func `missing credit up to the announced limit is settled, and one byte more is refused`() {
        var credit = LinkReceiveCredit(windowByteCount: 1000)
        credit.charge(400)
        let isBeyondSettled = credit.settle(601)
        #expect(!isBeyondSettled && credit.available == 600 && credit.released == 0)
        let isRestSettled = credit.settle(600)
        #expect(isRestSettled)
        #expect(credit.available == 0 && credit.received == 1000 && credit.released == 600)
    }

    // S-39
    @Test func `a compact acknowledgement announces only a gain of more than a sixteenth of the window`() {
        let limits = Limits()
        let window = UInt64(limits.linkWindow)
        var credit = LinkReceiveCredit(windowByteCount: limits.linkWindow)
        credit.charge(window)
        credit.release(window / 16)
        #expect(credit.nextLimit(limits, isCompact: true) == window)
        #expect(credit.nextLimit(limits, isCompact: false) == window + window / 16)
        credit.release(1)
        #expect(credit.nextLimit(limits, isCompact: true) == window + window / 16 + 1)
    }
}
