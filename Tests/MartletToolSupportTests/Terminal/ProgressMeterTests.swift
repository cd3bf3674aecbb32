import Testing

@testable import MartletToolSupport

@Suite struct ProgressMeterTests {
    @Test func `a constant rate gives the rate and the remaining time`() {
        var meter = ProgressMeter(of: "lines")
        for second in 1...20 { meter.update(count: second * 100, share: Double(second) / 40, now: .seconds(second)) }
        #expect(meter.rate.rounded() == 100)
        #expect(meter.timeLeft.map { ($0 / .seconds(1)).rounded() } == 20)
        #expect(meter.line(columns: 80) == "[###############---------------]  50%  2,000 lines  100/s  0:20 left")
    }

    @Test func `the rate covers the recent interval only`() {
        var meter = ProgressMeter(of: "lines")
        for second in 1...20 { meter.update(count: second * 1000, share: nil, now: .seconds(second)) }
        for second in 21...40 { meter.update(count: 20_000, share: nil, now: .seconds(second)) }
        #expect(meter.rate == 0)
        #expect(meter.timeLeft == nil)
        #expect(meter.line(columns: 80, note: "offline") == "20,000 lines  0/s  0:40  offline")
    }

    @Test func `at the start the rate and the remaining time are unknown`() {
        var meter = ProgressMeter(of: "lines")
        #expect(meter.rate == 0)
        meter.update(count: 0, share: 0, now: .zero)
        #expect(meter.timeLeft == nil)
        #expect(meter.line(columns: 60).hasSuffix("0 lines  0/s  waiting"))
    }

    @Test(arguments: 1...100) func `a line fits its columns`(columns: Int) {
        var meter = ProgressMeter(of: "lines")
        meter.update(count: 123_456, share: 0.77, now: .seconds(3))
        #expect(DisplayWidth.of(meter.line(columns: columns, note: "a note")) <= columns)
    }

    @Test func `the number of stored samples is bounded`() {
        var meter = ProgressMeter(of: "bytes")
        for tick in 1...100_000 { meter.update(count: tick, share: nil, now: .milliseconds(tick)) }
        #expect((950...1050).contains(meter.rate))
    }
}
