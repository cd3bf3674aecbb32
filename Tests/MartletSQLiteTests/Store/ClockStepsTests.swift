import Testing

@testable import MartletSQLite

@Suite struct ClockStepsTests {
    private let start = ContinuousClock.now

    //
    @Test(arguments: [600_000, -600_000] as [Int64])
    func `a clock that is set once -> one jump, and none at the next observations`(step: Int64) {
        var steps = ClockSteps(wall: 1_000_000, steady: start)
        #expect(steps.jump(wall: 1_060_000, steady: start + .seconds(60)) == nil)
        let wall = UInt64(1_120_000 + step)
        #expect(steps.jump(wall: wall, steady: start + .seconds(120)) == step)
        #expect(steps.jump(wall: wall + 60_000, steady: start + .seconds(180)) == nil)
        #expect(steps.jump(wall: wall + 120_000, steady: start + .seconds(240)) == nil)
    }

    //
    @Test func `a step of a minute -> no jump; of one millisecond more -> a jump`() {
        var steps = ClockSteps(wall: 1_000_000, steady: start)
        #expect(steps.jump(wall: 1_060_000, steady: start) == nil)
        #expect(steps.jump(wall: 1_120_001, steady: start) == 60_001)
        #expect(steps.jump(wall: 1_060_001, steady: start) == nil)
        #expect(steps.jump(wall: 1_000_000, steady: start) == -60_001)
    }
}
