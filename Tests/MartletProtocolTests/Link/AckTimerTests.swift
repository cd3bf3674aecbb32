import Testing

@testable import MartletProtocol

@Suite struct AckTimerTests {
    private let timeout = Duration.seconds(1)
    private func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }

    @Test func `the timer runs from the first frame that is not acknowledged`() {
        var timer = AckTimer()
        #expect(timer.deadline == nil)
        timer.sent(now: at(1), timeout: timeout)
        timer.sent(now: at(2), timeout: timeout)
        #expect(timer.deadline == at(2))
        timer.progressed(now: at(2), timeout: timeout, hasOutstanding: true)
        #expect(timer.deadline == at(3))
        timer.progressed(now: at(2), timeout: timeout, hasOutstanding: false)
        #expect(timer.deadline == nil)
    }

    // S-29
    @Test func `each expiry doubles it, and the third in silence replaces the connection`() {
        var timer = AckTimer()
        timer.sent(now: at(0), timeout: timeout)
        #expect(timer.expired(now: .zero + .milliseconds(999), timeout: timeout, isReliableCarrier: true) == .none)
        #expect(timer.expired(now: at(1), timeout: timeout, isReliableCarrier: true) == .probe)
        #expect(timer.deadline == at(3))
        #expect(timer.expired(now: at(3), timeout: timeout, isReliableCarrier: false) == .sendAgain)
        #expect(timer.deadline == at(7))
        #expect(timer.expired(now: at(7), timeout: timeout, isReliableCarrier: true) == .replaceConnection)
    }

    // S-29, S-33
    @Test func `a sign of life begins the count again`() {
        var timer = AckTimer()
        timer.sent(now: at(0), timeout: timeout)
        for second in [1, 3, 5, 7, 9] as [Int64] {
            timer.heard()
            #expect(timer.expired(now: at(second), timeout: timeout, isReliableCarrier: true) == .probe)
            #expect(timer.expiries == 1)
        }
        #expect(timer.expired(now: at(11), timeout: timeout, isReliableCarrier: true) == .probe)
        #expect(timer.expired(now: at(15), timeout: timeout, isReliableCarrier: true) == .replaceConnection)
        timer.stop()
        #expect(timer == AckTimer())
        #expect(timer.expired(now: at(99), timeout: timeout, isReliableCarrier: true) == .none)
    }
}
