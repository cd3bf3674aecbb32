import Testing

@testable import MartletTool

@Suite struct LogLossesTests {
    @Test func `losses -> the first one is reported at once, later ones with their number after the interval`() {
        var losses = LogLosses()
        #expect(losses.add(at: 5) == 1)
        #expect(losses.add(at: 6) == nil)
        #expect(losses.add(at: 4 + LogLosses.interval) == nil)
        #expect(losses.add(at: 5 + LogLosses.interval) == 3)
        #expect(losses.add(at: 6 + LogLosses.interval) == nil)
        #expect(losses.takeRest() == 1)
        #expect(losses.takeRest() == nil)
    }
}
