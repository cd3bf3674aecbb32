import Testing

@testable import Martlet

@Suite("Latest value", .timeLimit(.minutes(10)))
struct LatestTests {
    @Test func `an observer receives the current value first, and only the latest of two changes`() {
        let latest = Latest(1)
        var version: UInt64 = 0
        var seen = [latest.next(after: &version), latest.next(after: &version)]
        latest.set(2)
        latest.set(3)
        seen.append(latest.next(after: &version))
        latest.set(3)
        seen.append(latest.next(after: &version))
        #expect(seen == [1, nil, 3, nil])
    }

    @Test func `a change, the end and a cancellation wake the waiting tasks`() async {
        let latest = Latest(1)
        var version: UInt64 = 0
        _ = latest.next(after: &version)
        let seen = version
        let waiting = (1...2).map { _ in Task { await latest.wait(for: seen) } }
        latest.set(2)
        for task in waiting { await task.value }
        _ = latest.next(after: &version)
        let now = version
        let cancelled = Task { await latest.wait(for: now) }
        cancelled.cancel()
        await cancelled.value
        let last = Task { await latest.wait(for: now) }
        latest.finish()
        await last.value
        #expect(latest.isOver)
        await latest.wait(for: now)
    }
}
