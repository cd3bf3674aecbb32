import Testing

@testable import MartletMetrics

@Suite struct MetricsTextTests {
    private var snapshot: MetricsSnapshot {
        var snapshot = MetricsSnapshot()
        snapshot.addCounter("x_resumes", "Resumes.", 3)
        snapshot.add(
            "x_links", "Links \"by\" state\\.\nOf all.", .gauge, by: "state", [("connected", 2), ("a\"\\\n", 0)])
        snapshot.addCounter("x_busy_seconds", "Busy time.", Duration.milliseconds(1500))
        snapshot.addGauge("x_memory_bytes", "Memory.", 1 << 40)
        return snapshot
    }

    @Test func `counters and gauges → the lines of OpenMetrics with types, units and escapes`() {
        #expect(
            snapshot.text(.openMetrics) == """
                # HELP x_resumes Resumes.
                # TYPE x_resumes counter
                x_resumes_total 3
                # HELP x_links Links \\"by\\" state\\\\.\\nOf all.
                # TYPE x_links gauge
                x_links{state="connected"} 2
                x_links{state="a\\"\\\\\\n"} 0
                # HELP x_busy_seconds Busy time.
                # TYPE x_busy_seconds counter
                # UNIT x_busy_seconds seconds
                x_busy_seconds_total 1.5
                # HELP x_memory_bytes Memory.
                # TYPE x_memory_bytes gauge
                # UNIT x_memory_bytes bytes
                x_memory_bytes 1099511627776
                # EOF

                """)
    }

    @Test func `counters and gauges → the lines of Prometheus describe the sample of a counter`() {
        let lines = snapshot.text(.prometheus).split(separator: "\n")
        #expect(
            lines.prefix(4) == [
                "# HELP x_resumes_total Resumes.", "# TYPE x_resumes_total counter", "x_resumes_total 3",
                "# HELP x_links Links \"by\" state\\\\.\\nOf all.",
            ])
        #expect(!lines.contains { $0.hasPrefix("# UNIT") || $0 == "# EOF" })
    }

    @Test func `a histogram → rising buckets, sum, count and a gauge of the maximum`() {
        var histogram = Histogram()
        for microseconds: Int64 in [10, 100, 100, 5_000_000, 300_000_000] {
            histogram.record(.microseconds(microseconds))
        }
        var snapshot = MetricsSnapshot()
        snapshot.add(
            "x_latency_seconds", "Latency.", .histogram,
            [Metric.Sample(labels: [Metric.Label(name: "call", value: "load")], value: .histogram(histogram))])
        let lines = snapshot.text(.openMetrics).split(separator: "\n").map(String.init)
        let counts = lines.filter { $0.hasPrefix("x_latency_seconds_bucket") }.map { Int($0.split(separator: " ")[1])! }
        #expect(counts == counts.sorted() && counts.count == 23)
        #expect(lines.contains("x_latency_seconds_bucket{call=\"load\",le=\"6.4e-05\"} 1"))
        #expect(lines.contains("x_latency_seconds_bucket{call=\"load\",le=\"0.000128\"} 3"))
        #expect(lines.contains("x_latency_seconds_bucket{call=\"load\",le=\"8.388608\"} 4"))
        #expect(lines.contains("x_latency_seconds_bucket{call=\"load\",le=\"134.217728\"} 4"))
        #expect(lines.contains("x_latency_seconds_bucket{call=\"load\",le=\"+Inf\"} 5"))
        #expect(lines.contains("x_latency_seconds_sum{call=\"load\"} 305.00021"))
        #expect(lines.contains("x_latency_seconds_count{call=\"load\"} 5"))
        #expect(
            lines.suffix(3) == [
                "# UNIT x_latency_max_seconds seconds", "x_latency_max_seconds{call=\"load\"} 300", "# EOF",
            ])
    }

    @Test func `a number that does not exist → NaN`() {
        var snapshot = MetricsSnapshot()
        snapshot.add("x_share", "Share.", .gauge, by: "of", [("a", .nan), ("b", 0.25)])
        #expect(snapshot.text(.prometheus).contains("\nx_share{of=\"a\"} NaN\nx_share{of=\"b\"} 0.25\n"))
    }
}
