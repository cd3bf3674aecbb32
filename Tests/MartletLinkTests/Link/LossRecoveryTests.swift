import Testing

@testable import MartletLink

@Suite struct AckTimerTests {
    private let timeout = Duration.seconds(1)
    private func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }

    @Test func `the timer runs from the first unacknowledged frame`() {
        var timer = AckTimer()
        #expect(timer.deadline == nil)
        timer.sent(now: at(1), timeout: timeout)
        timer.sent(now: at(2), timeout: timeout)
        #expect(timer.deadline == at(2))
        timer.progressed(now: at(2), timeout: timeout, hasUnacknowledged: true)
        #expect(timer.deadline == at(3))
        timer.progressed(now: at(2), timeout: timeout, hasUnacknowledged: false)
        #expect(timer.deadline == nil)
    }

    // S-29
    @Test func `each expiry doubles the timeout, and the third in silence replaces the connection`() {
        var timer = AckTimer()
        timer.sent(now: at(0), timeout: timeout)
        #expect(timer.expired(now: .zero + .milliseconds(999), timeout: timeout, isReliableCarrier: true) == .none)
        #expect(timer.expired(now: at(1), timeout: timeout, isReliableCarrier: true) == .probe)
        #expect(timer.deadline == at(3))
        #expect(timer.expired(now: at(3), timeout: timeout, isReliableCarrier: false) == .retransmit)
        #expect(timer.deadline == at(7))
        #expect(timer.expired(now: at(7), timeout: timeout, isReliableCarrier: true) == .replaceConnection)
    }

    // S-29, S-33
    @Test func `a frame of the peer restarts the count of expiries`() {
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

@Suite struct CreditProbeTests {
    private func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }

    // S-41
    @Test func `a blocked sender probes after a timeout, then at doubling intervals of at most a minute`() {
        var probe = CreditProbe()
        probe.update(isBlocked: true, now: at(0), timeout: .seconds(1))
        #expect(probe.expired(now: .zero + .milliseconds(999), timeout: .seconds(1), isReliableCarrier: true) == false)
        var asked: [Int64] = []
        while asked.count < 9, let deadline = probe.deadline {
            #expect(probe.expired(now: deadline, timeout: .seconds(1), isReliableCarrier: true) == true)
            probe.update(isBlocked: true, now: deadline, timeout: .seconds(1))
            asked.append((deadline - .zero).milliseconds / 1000)
        }
        #expect(asked == [1, 3, 7, 15, 31, 63, 123, 183, 243])
    }

    // S-41
    @Test func `on a carrier without order, the interval after an unanswered probe is at most 5 s`() {
        var probe = CreditProbe()
        probe.update(isBlocked: true, now: at(0), timeout: .seconds(1))
        var sent: [Int64] = []
        while sent.count < 6, let deadline = probe.deadline {
            _ = probe.expired(now: deadline, timeout: .seconds(1), isReliableCarrier: false)
            sent.append((deadline - .zero).milliseconds / 1000)
        }
        #expect(sent == [1, 3, 7, 12, 17, 22])
        probe.noteAnswer()
        _ = probe.expired(now: at(27), timeout: .seconds(1), isReliableCarrier: false)
        #expect(probe.deadline == at(87))
    }

    @Test func `a sender that is no longer blocked does not probe, and starts again with the timeout`() {
        var probe = CreditProbe()
        probe.update(isBlocked: true, now: at(0), timeout: .seconds(1))
        #expect(probe.expired(now: at(1), timeout: .seconds(1), isReliableCarrier: true) == true)
        probe.update(isBlocked: false, now: at(2), timeout: .seconds(1))
        #expect(probe.deadline == nil)
        probe.update(isBlocked: true, now: at(2), timeout: .seconds(1))
        #expect(probe.deadline == at(3))
    }
}
