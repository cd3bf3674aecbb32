import MartletSimulator
import Testing

@testable import MartletLab

@Suite struct LifeTimelineFileTests {
    @Test(arguments: [3, 4, 7, 13] as [UInt64])
    func `lives with timelines → log, outboxes, timelines and all devices agree, and a seed has one trace`(
        seed: UInt64
    ) {
        let results = (0..<2).map { _ in
            ClientLives.run(seed: seed, duration: .seconds(200)) { LifeTimelineFile($0) }
        }
        #expect(results[0].violations.map(\.description) == [])
        #expect(results[0].traceHash == results[1].traceHash)
    }
}
