import MartletLink
import MartletMetrics
import Testing

@testable import MartletAdmin

@Suite struct AlertsTests {
    private static func alerts(_ text: String) throws -> Alerts { Alerts(try AlertRule.parse(Array(text.utf8))) }

    private static func gauge(_ value: Double) -> MetricsSnapshot {
        var snapshot = MetricsSnapshot()
        snapshot.add("g", "Gauge.", .gauge, by: "l", [("a", value), ("b", 1)])
        return snapshot
    }

    private static func at(_ seconds: Int64) -> Instant { Instant.zero + .seconds(seconds) }

    private static func changes(_ text: String, _ samples: [MetricsSnapshot]) throws -> [String] {
        var alerts = try alerts(text)
        return samples.enumerated().flatMap { index, sample in
            alerts.sample(sample, now: at(Int64(index) * 2)).map { "\(index)\($0.isRaised ? "+" : "-")" }
        }
    }

    @Test func `a threshold without a duration → raised at once, and over when it is no longer fulfilled`() throws {
        let samples = [4.0, 5, 6, 7, 5, 4, 6].map(Self.gauge)
        #expect(try Self.changes("x: g{l=a} > 5", samples) == ["2+", "4-", "6+"])
        #expect(try Self.changes("x: g{l=a} < 5", samples) == ["0+", "1-", "5+", "6-"])
    }

    @Test func `a duration → raised when the comparison has been true for it without a break`() throws {
        let samples = [6.0, 6, 4, 6, 6, 6, 6, 6].map(Self.gauge)
        #expect(try Self.changes("x: g{l=a} > 5 for 6s", samples) == ["6+"])
    }

    @Test func `an end → raised until the value has reached it`() throws {
        let samples = [6.0, 5, 4, 3.5, 3, 4, 6].map(Self.gauge)
        #expect(try Self.changes("x: g{l=a} > 5 until 3", samples) == ["0+", "4-", "6+"])
        let rising = [1.0, 2, 3, 4, 5].map(Self.gauge)
        #expect(try Self.changes("x: g{l=a} < 2 until 4", rising) == ["0+", "3-"])
    }

    @Test func `a metric without a label → the sum of its samples; a ratio → the quotient, and none of zero`() throws {
        #expect(try Self.changes("x: g > 6", [5, 6].map(Self.gauge)) == ["1+"])
        #expect(try Self.changes("x: g{l=b} / g{l=a} > 0.4", [3, 2, 0, 2].map(Self.gauge)) == ["1+", "2-", "3+"])
        #expect(try Self.changes("x: g{l=b} / g{l=a} < 0", [1, -1].map(Self.gauge)) == ["1+"])
        #expect(try Self.changes("x: g{other=a} > 0", [1, 1].map(Self.gauge)) == [])
    }

    @Test func `a counter → its increase in a second, and no value after it has started again`() throws {
        let samples = [0, 100, 100, 130, 10, 40].map { count in
            var snapshot = MetricsSnapshot()
            snapshot.addCounter("c", "Counter.", count)
            return snapshot
        }
        #expect(try Self.changes("x: rate c > 14", samples) == ["1+", "2-", "3+", "4-", "5+"])
        #expect(try Self.changes("x: rate c < 1", samples) == ["2+", "3-"])
        #expect(try Self.changes("x: rate c > 14", [MetricsSnapshot(), samples[1]]) == ["1+"])
    }

    @Test func `a histogram → the percentile of the durations since the last sample, and no value without one`() throws
    {
        var histogram = Histogram()
        let samples = [[1], [1000, 1000], [], [1]].map { (milliseconds: [Int64]) in
            for duration in milliseconds { histogram.record(.milliseconds(duration)) }
            var snapshot = MetricsSnapshot()
            snapshot.addHistogram("h_seconds", "Durations.", histogram)
            return snapshot
        }
        #expect(try Self.changes("x: p50 h_seconds > 0.5", samples) == ["1+", "2-"])
        #expect(try Self.changes("x: p99 h_seconds < 0.5", samples) == ["0+", "1-", "3+"])
    }

    @Test func `a metric that does not exist → no alert`() throws {
        #expect(try Self.changes("x: other > 0\ny: other < 1\nz: rate other < 1", [1, 1].map(Self.gauge)) == [])
    }

    @Test func `replaced rules → equal ones keep their state, and the alerts of others end`() throws {
        var alerts = try Self.alerts("x: g > 0\ny: g > 0")
        _ = alerts.sample(Self.gauge(1), now: .zero)
        #expect(alerts.raised == ["x", "y"])
        let ended = alerts.replace(by: try AlertRule.parse(Array("y: g > 0\nx: g > 1".utf8)))
        #expect(ended == [AlertChange(name: "x", isRaised: false, value: nil)])
        #expect(alerts.raised == ["y"])
        #expect(alerts.sample(Self.gauge(1), now: .zero) == [AlertChange(name: "x", isRaised: true, value: 2)])
    }

    @Test func `samples at irregular instants → the rate by the time between them`() throws {
        var alerts = try Self.alerts("x: rate c > 14")
        let changes = [(0, 0), (50, 5), (95, 8), (115, 9)].map { count, seconds in
            var snapshot = MetricsSnapshot()
            snapshot.addCounter("c", "Counter.", count)
            return alerts.sample(snapshot, now: Self.at(Int64(seconds))).map(\.value)
        }
        #expect(changes == [[], [], [15], []])
    }
}
