import MartletMetrics
import MartletRelay
import Testing

@testable import MartletAdmin

@Suite struct SampleEventsTests {
    private static func metrics(_ stored: Int, _ durations: [Duration]) -> MetricsSnapshot {
        var histogram = Histogram()
        for duration in durations { histogram.record(duration) }
        var snapshot = MetricsSnapshot()
        snapshot.addCounter("martlet_relay_messages_stored", "Stored.", stored)
        snapshot.add("martlet_relay_links", "Links.", .gauge, by: "state", [("connected", 2), ("b\"", .nan)])
        snapshot.addHistogram("martlet_relay_turn_seconds", "Turns.", histogram)
        return snapshot
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `a snapshot → an event with its values, and the quantiles of the first durations`() {
        var events = SampleEvents()
        let event = events.add(Self.metrics(7, [.seconds(1)]), [.draining], ["slow"], at: 1000)
        #expect(
            Self.text(event) == """
                event: sample
                id: 1
                data: {"t":1000,"impediments":["draining"],"alerts":["slow"],"values":{"messages_stored":7,\
                "links{state=connected}":2,"links{state=b\\"}":null},"quantiles":{"turn_seconds":[1,1,1]}}


                """)
    }

    @Test func `a histogram that has not changed → no quantiles; with new durations → those of the new ones`() {
        var events = SampleEvents()
        _ = events.add(Self.metrics(0, [.seconds(1)]), [], at: 0)
        #expect(Self.text(events.add(Self.metrics(0, [.seconds(1)]), [], at: 0)).contains("\"quantiles\":{}"))
        let third = Self.text(events.add(Self.metrics(0, [.seconds(1), .milliseconds(1)]), [], at: 0))
        #expect(third.contains("\"quantiles\":{\"turn_seconds\":[0.001024,0.001024,0.001024]}"))
    }

    @Test func `more samples than are kept → the latest ones; after one of them → those that follow it`() {
        var events = SampleEvents()
        for time in 1...(SampleEvents.maxCount + 10) { _ = events.add(Self.metrics(0, []), [], at: UInt64(time)) }
        let last = UInt64(SampleEvents.maxCount + 10)
        #expect(events.events(after: nil).count == SampleEvents.maxCount)
        #expect(Self.text(events.events(after: nil)[0].bytes).contains("id: 11\n"))
        #expect(events.events(after: last).isEmpty)
        #expect(
            events.events(after: last - 2).map { Self.text($0.bytes) }.map { $0.contains("id: \(last - 1)\n") } == [
                true, false,
            ])
        #expect(events.events(after: 3).count == SampleEvents.maxCount)
        #expect(events.position(last) == last && events.position(nil) == nil)
    }

    @Test func `the position of another process → all samples`() {
        var events = SampleEvents(after: 2000)
        _ = events.add(Self.metrics(0, []), [], at: 0)
        #expect(events.position(2001) == 2001)
        for id: UInt64 in [1, 2000, 2002] { #expect(events.position(id) == nil) }
        #expect(events.events(after: nil).map(\.id) == [2001])
    }

    @Test func `a hundred durations → the 50th, 90th and 99th percentile in this order`() {
        var events = SampleEvents()
        let durations = (1...100).map { Duration.seconds($0 <= 50 ? 1 : $0 <= 90 ? 2 : $0 <= 99 ? 4 : 8) }
        let event = Self.text(events.add(Self.metrics(0, durations), [], at: 0))
        #expect(event.contains("\"turn_seconds\":[1.048576,2.097152,4.194304]"), "\(event)")
    }
}
