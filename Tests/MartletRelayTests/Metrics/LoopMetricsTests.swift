import MartletMetrics
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct LoopMetricsTests {
    private struct Failed: Error {}

    @Test func `answers of each call → its durations and failures`() {
        let room: RoomName = "room"
        var metrics = LoopMetrics()
        metrics.answered(.append(room, upTo: 1, messageCount: 1, .success(1)), after: .milliseconds(1))
        metrics.answered(.append(room, upTo: nil, messageCount: 0, .failure(.other(Failed()))), after: .milliseconds(3))
        metrics.answered(.saveProgress(room, .success(())), after: .milliseconds(2))
        metrics.answered(.touch([room], .failure(.other(Failed()))), after: .zero)
        #expect(metrics.storeCalls[.append]?.durations.sum == .milliseconds(4))
        #expect(metrics.storeCalls[.append]?.failureCount == 1)
        #expect(metrics.storeCalls[.saveProgress]?.durations.count == 1)
        #expect(metrics.storeCalls[.saveProgress]?.failureCount == 0)
        #expect(metrics.storeCalls[.touch]?.failureCount == 1)
        #expect(metrics.storeCalls[.load] == nil)
    }

    @Test func `the measurements of two loops → their sum`() {
        let room: RoomName = "room"
        var (one, other) = (LoopMetrics(), LoopMetrics())
        one.answered(.load(room, .failure(.other(Failed()))), after: .milliseconds(1))
        one.turnEnded(after: .milliseconds(5))
        other.answered(.load(room, .failure(.other(Failed()))), after: .milliseconds(2))
        other.turnEnded(after: .milliseconds(7))
        one += other
        #expect(one.storeCalls[.load]?.durations.sum == .milliseconds(3))
        #expect(one.storeCalls[.load]?.failureCount == 2)
        #expect(one.turns.sum == .milliseconds(12))
    }
}
