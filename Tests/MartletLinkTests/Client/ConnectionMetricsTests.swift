import MartletMetrics
import Testing

@testable import MartletLink

@Suite struct ConnectionMetricsTests {
    private static func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    @Test func `states one after the other → the duration of each, and their transitions`() {
        var metrics = ConnectionMetrics(now: Self.at(0))
        metrics.entered(.connecting(attempt: 1), now: Self.at(10))
        metrics.entered(.handshaking, now: Self.at(30))
        metrics.entered(.online, now: Self.at(60))
        metrics.entered(.connecting(attempt: 1), now: Self.at(100))
        metrics.entered(.connecting(attempt: 2), now: Self.at(150))
        #expect(metrics.duration(of: .idle, now: Self.at(200)) == .milliseconds(10))
        #expect(metrics.duration(of: .connecting, now: Self.at(200)) == .milliseconds(120))
        #expect(metrics.duration(of: .handshaking, now: Self.at(200)) == .milliseconds(30))
        #expect(metrics.duration(of: .online, now: Self.at(200)) == .milliseconds(40))
        #expect(metrics.duration(of: .stopped, now: Self.at(200)) == .zero)
        #expect(metrics.transitions[.init(from: .online, to: .connecting)] == 1)
        #expect(metrics.transitions.count == 4)
    }

    @Test func `attempts of which the last succeeds → counts, and the duration of the last one`() {
        var metrics = ConnectionMetrics(now: Self.at(0))
        metrics.attempted(now: Self.at(0))
        metrics.failed(.unreachable)
        metrics.attempted(now: Self.at(100))
        metrics.established(now: Self.at(140))
        metrics.failed(.lost)
        metrics.failed(.refused(retryAfter: .seconds(1)))
        metrics.failed(.refused(retryAfter: nil))
        #expect((metrics.attempts, metrics.established) == (2, 1))
        #expect(metrics.handshakes.sum == .milliseconds(40))
        #expect(metrics.failures == ["unreachable": 1, "lost": 1, "refused": 2])
    }

    @Test func `pings → those sent and answered, and silent peers`() {
        var metrics = ConnectionMetrics(now: Self.at(0))
        for _ in 0..<3 { metrics.pingSent() }
        metrics.pingAnswered()
        metrics.peerSilent()
        #expect((metrics.pingsSent, metrics.pingsAnswered, metrics.silentPeers) == (3, 1, 1))
    }
}
