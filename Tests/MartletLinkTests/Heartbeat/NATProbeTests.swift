import MartletLink
import Testing

@Suite struct NATProbeTests {
    private let home = NetworkID(rawValue: 1)
    private let office = NetworkID(rawValue: 2)

    private func at(_ seconds: Int) -> Instant { .zero + .seconds(seconds) }

    @Test func `an unknown network begins at 30 s, and each survived silence adds 30 s`() {
        var probe = NATProbe(network: home)
        #expect(probe.interval(now: .zero) == .seconds(30))
        probe.answered(after: .seconds(30), now: at(30))
        #expect(probe.interval(now: at(30)) == .seconds(60))
        probe.answered(after: .seconds(60), now: at(90))
        #expect(probe.interval(now: at(90)) == .seconds(90))
    }

    @Test func `a survived silence shorter than an earlier one has no effect`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        probe.answered(after: .seconds(20), now: at(80))
        #expect(probe.interval(now: at(80)) == .seconds(90))
    }

    @Test func `the maximum silence is 20 minutes`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(5000), now: at(5000))
        #expect(probe.interval(now: at(5000)) == NATProbe.maximum)
    }

    // C-50
    @Test(arguments: [20, 31, 45, 60, 100, 119, 240, 300, 299, 600, 1190])
    func `the search ends just below the translator's limit, after at most three failures`(limit: Int) {
        var probe = NATProbe(network: home)
        var now = at(1000)
        var failureCount = 0
        for _ in 0..<100 {
            let silence = probe.interval(now: now)
            now = now + silence
            if silence < .seconds(limit) {
                probe.answered(after: silence, now: now)
            } else {
                failureCount += 1
                #expect(probe.failed(after: silence, now: now) == .nat)
            }
        }
        let settled = probe.interval(now: now)
        #expect(settled < .seconds(limit))
        #expect(settled >= max(.seconds(limit - 10) * 9 / 10, NATProbe.minimum))
        #expect(failureCount <= 3)
    }

    @Test func `a failure after a silence of 16 s → the minimum silence`() {
        var probe = NATProbe(network: home)
        #expect(probe.failed(after: .seconds(16), now: at(1000)) == .nat)
        #expect(probe.interval(now: at(1000)) == NATProbe.minimum)
    }

    // C-50
    @Test func `a failure within 30 s after a path change is caused by the path change`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        probe.pathChanged(to: home, now: at(100))
        #expect(probe.failed(after: .seconds(90), now: at(130)) == .pathChange)
        #expect(probe.interval(now: at(130)) == .seconds(90))
        #expect(probe.failed(after: .seconds(90), now: at(131)) == .nat)
        #expect(probe.interval(now: at(131)) == .seconds(75))
    }

    @Test func `a path change within 30 s after a failure cancels the failure`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        #expect(probe.failed(after: .seconds(90), now: at(150)) == .nat)
        #expect(probe.interval(now: at(150)) == .seconds(75))
        probe.pathChanged(to: office, now: at(180))
        #expect(probe.interval(now: at(180)) == .seconds(30))
        probe.pathChanged(to: home, now: at(500))
        #expect(probe.interval(now: at(500)) == .seconds(90))
    }

    @Test func `a failure is cancelled once, and silences survived afterwards are kept`() {
        var probe = NATProbe(network: home)
        _ = probe.failed(after: .seconds(30), now: at(150))
        probe.pathChanged(to: home, now: at(160))
        probe.answered(after: .seconds(60), now: at(170))
        probe.pathChanged(to: home, now: at(175))
        #expect(probe.interval(now: at(175)) == .seconds(90))
    }

    @Test func `a path change 31 s after a failure does not cancel the failure`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        _ = probe.failed(after: .seconds(90), now: at(150))
        probe.pathChanged(to: home, now: at(181))
        #expect(probe.interval(now: at(181)) == .seconds(75))
    }

    @Test func `failures after a survived silence have another cause, three in a row restart the search`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(120), now: at(120))
        #expect(probe.failed(after: .seconds(100), now: at(1000)) == .other)
        #expect(probe.failed(after: .seconds(100), now: at(2000)) == .other)
        probe.answered(after: .seconds(50), now: at(2100))
        #expect(probe.failed(after: .seconds(100), now: at(3000)) == .other)
        #expect(probe.failed(after: .seconds(100), now: at(4000)) == .other)
        #expect(probe.interval(now: at(4000)) == .seconds(150))
        #expect(probe.failed(after: .seconds(100), now: at(5000)) == .nat)
        #expect(probe.interval(now: at(5000)) == .milliseconds(57_500))
    }

    @Test func `a failed silence that is survived later does not limit the search`() {
        var probe = NATProbe(network: home)
        _ = probe.failed(after: .seconds(40), now: at(1000))
        probe.answered(after: .seconds(40), now: at(1100))
        #expect(probe.interval(now: at(1100)) == .seconds(70))
    }

    @Test func `a failure limits the silence for a day`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        _ = probe.failed(after: .seconds(70), now: at(1000))
        #expect(probe.interval(now: at(1000)) == .seconds(54))
        #expect(probe.interval(now: at(1000 + 86_399)) == .seconds(54))
        #expect(probe.interval(now: at(1000 + 86_400)) == .seconds(90))
        #expect(probe.failed(after: .seconds(90), now: at(1000 + 86_500)) == .nat)
        #expect(probe.interval(now: at(1000 + 86_500)) == .seconds(75))
    }

    @Test func `64 networks are remembered, and the least recently used one is removed first`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        for number in 2...64 { probe.pathChanged(to: NetworkID(rawValue: UInt64(number)), now: at(100)) }
        #expect(probe.rememberedNetworkCount == 64)
        probe.pathChanged(to: home, now: at(200))
        #expect(probe.network == home)
        #expect(probe.interval(now: at(200)) == .seconds(90))
        probe.pathChanged(to: NetworkID(rawValue: 65), now: at(300))
        #expect(probe.rememberedNetworkCount == NATProbe.maxRememberedNetworks)
        probe.pathChanged(to: home, now: at(400))
        #expect(probe.interval(now: at(400)) == .seconds(90))
        for number in 100..<164 { probe.pathChanged(to: NetworkID(rawValue: UInt64(number)), now: at(500)) }
        probe.pathChanged(to: home, now: at(600))
        #expect(probe.interval(now: at(600)) == NATProbe.initial)
    }
}
