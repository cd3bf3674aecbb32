import MartletProtocol
import Testing

@Suite struct NATProbeTests {
    private let home = NetworkID(rawValue: 1)
    private let office = NetworkID(rawValue: 2)

    private func at(_ seconds: Int) -> Instant { .zero + .seconds(seconds) }

    @Test func `An unknown network begins at 30 s and rises by 30 s with each silence survived`() {
        var probe = NATProbe(network: home)
        #expect(probe.interval(now: .zero) == .seconds(30))
        probe.answered(after: .seconds(30), now: at(30))
        #expect(probe.interval(now: at(30)) == .seconds(60))
        probe.answered(after: .seconds(60), now: at(90))
        #expect(probe.interval(now: at(90)) == .seconds(90))
    }

    @Test func `A shorter silence than was survived before teaches nothing`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        probe.answered(after: .seconds(20), now: at(80))
        #expect(probe.interval(now: at(80)) == .seconds(90))
    }

    @Test func `The longest silence tried is 20 minutes`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(5000), now: at(5000))
        #expect(probe.interval(now: at(5000)) == NATProbe.maximum)
    }

    // C-50
    @Test(arguments: [20, 31, 45, 60, 100, 119, 240, 300, 299, 600, 1190])
    func `The search ends just below the translator's limit and then breaks nothing more`(limit: Int) {
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

    @Test func `A failure after a silence that nothing survives leaves the shortest`() {
        var probe = NATProbe(network: home)
        #expect(probe.failed(after: .seconds(16), now: at(1000)) == .nat)
        #expect(probe.interval(now: at(1000)) == NATProbe.minimum)
    }

    // C-50
    @Test func `A failure within 30 s after a path change is not the translator's`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        probe.pathChanged(to: home, now: at(100))
        #expect(probe.failed(after: .seconds(90), now: at(130)) == .pathChange)
        #expect(probe.interval(now: at(130)) == .seconds(90))
        #expect(probe.failed(after: .seconds(90), now: at(131)) == .nat)
        #expect(probe.interval(now: at(131)) == .seconds(75))
    }

    @Test func `A path change within 30 s after a failure takes the blame from the translator`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        #expect(probe.failed(after: .seconds(90), now: at(150)) == .nat)
        #expect(probe.interval(now: at(150)) == .seconds(75))
        probe.pathChanged(to: office, now: at(180))
        #expect(probe.interval(now: at(180)) == .seconds(30))
        probe.pathChanged(to: home, now: at(500))
        #expect(probe.interval(now: at(500)) == .seconds(90))
    }

    @Test func `A failure is forgiven once, and what is learned after that stays`() {
        var probe = NATProbe(network: home)
        _ = probe.failed(after: .seconds(30), now: at(150))
        probe.pathChanged(to: home, now: at(160))
        probe.answered(after: .seconds(60), now: at(170))
        probe.pathChanged(to: home, now: at(175))
        #expect(probe.interval(now: at(175)) == .seconds(90))
    }

    @Test func `A path change long after a failure does not`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        _ = probe.failed(after: .seconds(90), now: at(150))
        probe.pathChanged(to: home, now: at(181))
        #expect(probe.interval(now: at(181)) == .seconds(75))
    }

    @Test func `A failure at a silence survived before is somebody else's, three in a row begin the search anew`() {
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

    @Test func `A silence that failed and is then survived did not fail because of the translator`() {
        var probe = NATProbe(network: home)
        _ = probe.failed(after: .seconds(40), now: at(1000))
        probe.answered(after: .seconds(40), now: at(1100))
        #expect(probe.interval(now: at(1100)) == .seconds(70))
    }

    @Test func `A failure is held against the network for a day`() {
        var probe = NATProbe(network: home)
        probe.answered(after: .seconds(60), now: at(60))
        _ = probe.failed(after: .seconds(70), now: at(1000))
        #expect(probe.interval(now: at(1000)) == .seconds(54))
        #expect(probe.interval(now: at(1000 + 86_399)) == .seconds(54))
        #expect(probe.interval(now: at(1000 + 86_400)) == .seconds(90))
        #expect(probe.failed(after: .seconds(90), now: at(1000 + 86_500)) == .nat)
        #expect(probe.interval(now: at(1000 + 86_500)) == .seconds(75))
    }

    @Test func `Each network is remembered, up to 64, the longest unused forgotten first`() {
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
