import Testing

@testable import MartletTransport

@Suite struct AdaptiveSpinTests {
    @Test func `new loop and limit zero give no spin`() {
        #expect(AdaptiveSpin(limit: 50_000).duration(afterWork: 0) == 0)
        var disabled = AdaptiveSpin(limit: 0)
        for _ in 0..<100 { disabled.recordWait(0) }
        #expect([0, 1, 1_000_000, UInt64.max].allSatisfy { disabled.duration(afterWork: $0) == 0 })
    }

    @Test func `waits shorter than the limit give a spin of one limit after 23 waits`() {
        var spin = AdaptiveSpin(limit: 50_000)
        var count = 0
        while spin.duration(afterWork: 1000) == 0, count < 100 {
            spin.recordWait(10_000)
            count += 1
        }
        #expect(count == 23)
        for _ in 0..<100 { spin.recordWait(49_000) }
        #expect(spin.duration(afterWork: 1000) == 50_000)
        for _ in 0..<100 { spin.recordWait(51_000) }
        #expect(spin.duration(afterWork: 1000) == 0)
    }

    @Test(arguments: [1_000_000, UInt64.max])
    func `one pause of any length ends the spin until 12 short waits`(_ pause: UInt64) {
        var spin = AdaptiveSpin(limit: 50_000)
        for _ in 0..<100 { spin.recordWait(10_000) }
        spin.recordWait(pause)
        #expect(spin.duration(afterWork: 1000) == 0)
        for _ in 0..<12 { spin.recordWait(10_000) }
        #expect(spin.duration(afterWork: 1000) == 50_000)
    }

    @Test func `work longer than the limit gives a spin of the same length, at most twenty limits`() {
        var spin = AdaptiveSpin(limit: 50_000)
        spin.recordWait(200_000)
        let durations = [0, 50_000, 50_001, 700_000, 1_000_000, 1_000_001, .max].map { spin.duration(afterWork: $0) }
        #expect(durations == [0, 0, 50_001, 700_000, 1_000_000, 1_000_000, 1_000_000])
    }

    @Test func `wait longer than four times the work gives no spin after the work`() {
        var spin = AdaptiveSpin(limit: 50_000)
        #expect(spin.duration(afterWork: 1_000_000) == 0)
        spin.recordWait(4_000_003)
        #expect(spin.duration(afterWork: 1_000_000) == 1_000_000)
        spin.recordWait(4_000_004)
        #expect(spin.duration(afterWork: 1_000_000) == 0)
        // Short waits allow a spin of one limit regardless of the last wait.
        for _ in 0..<100 { spin.recordWait(10_000) }
        spin.recordWait(240_000)
        #expect(spin.duration(afterWork: 51_000) == 50_000)
    }
}
