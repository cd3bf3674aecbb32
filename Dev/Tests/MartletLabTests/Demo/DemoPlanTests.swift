import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct DemoPlanTests {
    @Test(arguments: [
        (DemoText.minByteCount, 1), (DemoText.minByteCount, 60_000), (300_000, 5_872), (1 << 28, 5_000_000),
    ])
    func `the connections of a text of any size are cut at least ten times`(byteCount: Int, messageCount: Int) throws {
        let share = try #require(DemoPlan(byteCount: byteCount, messageCount: messageCount).profile.cutAfterByteCount)
        let carried = byteCount + messageCount * 62
        #expect(2 * (carried / share - 1) >= DemoPlan.minCutCount)
        #expect(share >= 16 << 10)
    }
}
