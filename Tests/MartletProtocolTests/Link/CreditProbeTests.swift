import Testing

@testable import MartletProtocol

@Suite struct CreditProbeTests {
    private func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }

    // S-41
    @Test func `who is stuck asks after a timeout, then twice as late each time, at least once a minute`() {
        var probe = CreditProbe()
        probe.update(isStuck: true, now: at(0), timeout: .seconds(1))
        #expect(probe.expired(now: .zero + .milliseconds(999), timeout: .seconds(1)) == false)
        var asked: [Int64] = []
        while asked.count < 9, let deadline = probe.deadline {
            #expect(probe.expired(now: deadline, timeout: .seconds(1)) == true)
            probe.update(isStuck: true, now: deadline, timeout: .seconds(1))
            asked.append((deadline - .zero).milliseconds / 1000)
        }
        #expect(asked == [1, 3, 7, 15, 31, 63, 123, 183, 243])
    }

    @Test func `who is no longer stuck does not ask, and begins anew`() {
        var probe = CreditProbe()
        probe.update(isStuck: true, now: at(0), timeout: .seconds(1))
        #expect(probe.expired(now: at(1), timeout: .seconds(1)) == true)
        probe.update(isStuck: false, now: at(2), timeout: .seconds(1))
        #expect(probe.deadline == nil)
        probe.update(isStuck: true, now: at(2), timeout: .seconds(1))
        #expect(probe.deadline == at(3))
    }
}
