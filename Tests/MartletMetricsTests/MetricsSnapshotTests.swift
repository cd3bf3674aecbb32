import Testing

@testable import MartletMetrics

@Suite struct MetricsSnapshotTests {
    @Test func `names and labels of a snapshot → its numbers and histograms; others → nil`() {
        var histogram = Histogram()
        histogram.record(.seconds(1))
        var snapshot = MetricsSnapshot()
        snapshot.addCounter("x_resumes", "Resumes.", 3)
        snapshot.add("x_links", "Links.", .gauge, by: "state", [("connected", 2), ("suspended", 1)])
        snapshot.addHistogram("x_latency_seconds", "Latency.", histogram)
        #expect(snapshot["x_resumes"] == 3)
        #expect(snapshot["x_links", .init(name: "state", value: "suspended")] == 1)
        #expect(snapshot.histogram("x_latency_seconds") == histogram)
        #expect(snapshot["x_links"] == nil)
        #expect(snapshot["x_latency_seconds"] == nil)
        #expect(snapshot.histogram("x_resumes") == nil)
        #expect(snapshot["x_resumes_total"] == nil)
        #expect(snapshot.metrics.map(\.unit) == [nil, nil, "seconds"])
    }
}
