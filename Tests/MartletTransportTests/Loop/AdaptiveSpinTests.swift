import Testing

@testable import MartletTransport

@Suite struct AdaptiveSpinTests {
    @Test func `new loop and limit zero give no spin`() {
        #expect(AdaptiveSpin(limit: 50_000).duration == 0)
        var disabled = AdaptiveSpin(limit: 0)
        for _ in 0..<100 { disabled.recordWait(0) }
        #expect(disabled.duration == 0)
    }

    @Test func `waits shorter than the limit give a spin of one limit after 23 waits`() {
        var spin = AdaptiveSpin(limit: 50_000)
        var count = 0
        while spin.duration == 0, count < 100 {
            spin.recordWait(10_000)
            count += 1
        }
        #expect(count == 23)
        for _ in 0..<100 { spin.recordWait(49_000) }
        #expect(spin.duration == 50_000)
        for _ in 0..<100 { spin.recordWait(51_000) }
        #expect(spin.duration == 0)
    }

    @Test(arguments: [1_000_000, UInt64.max])
    func `one pause of any length ends the spin until 12 short waits`(_ pause: UInt64) {
        var spin = AdaptiveSpin(limit: 50_000)
        for _ in 0..<100 { spin.recordWait(10_000) }
        spin.recordWait(pause)
        #expect(spin.duration == 0)
        for _ in 0..<12 { spin.recordWait(10_000) }
        #expect(spin.duration == 50_000)
    }
}
