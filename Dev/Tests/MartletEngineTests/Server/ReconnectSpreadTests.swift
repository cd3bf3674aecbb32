import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct ReconnectSpreadTests {
    private func at(_ seconds: Double) -> Instant { .zero + .seconds(seconds) }

    // C-92
    @Test(arguments: [
        (0, Duration.milliseconds(1)), (1, .milliseconds(1)), (2, .milliseconds(2)), (20, .milliseconds(32)),
        (1000, .milliseconds(1024)), (10_000, .milliseconds(16_384)), (20_000, .seconds(24)), (1_000_000, .seconds(24)),
    ])
    func `the spread is 1 ms for each client, rounded up to a power of two, and at most 24 s`(
        clientCount: Int, duration: Duration
    ) {
        var spread = ReconnectSpread()
        #expect(spread.duration(clientCount: clientCount, loopCount: 1, now: at(100)) == duration)
    }

    // C-92
    @Test func `arrivals count for 12 s ahead, until two seconds have passed`() {
        var spread = ReconnectSpread()
        for _ in 0..<100 { spread.arrived(now: at(10.1)) }
        #expect(spread.duration(clientCount: 100, loopCount: 1, now: at(10.9)) == .milliseconds(2048))
        #expect(spread.duration(clientCount: 100, loopCount: 1, now: at(11.9)) == .milliseconds(2048))
        #expect(spread.duration(clientCount: 100, loopCount: 1, now: at(12)) == .milliseconds(128))
    }

    // C-92
    @Test func `arrivals on one of four loops count four times`() {
        var spread = ReconnectSpread()
        for _ in 0..<10 { spread.arrived(now: at(1)) }
        #expect(spread.duration(clientCount: 40, loopCount: 4, now: at(1)) == .milliseconds(1024))
    }
}
