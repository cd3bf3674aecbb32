import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct IdleTimerTests {
    /// Returns a timer of 10 s with a connection at the previous check.
    private func onlineTimer() -> IdleTimer {
        var timer = IdleTimer(limit: .seconds(10))
        timer.update(isOnline: true, elapsed: .zero, messageCount: 0)
        return timer
    }

    @Test func `ten seconds online without a message expire the timer`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(4), messageCount: 0)
        #expect(timer.remaining == .seconds(6))
        timer.update(isOnline: true, elapsed: .seconds(6), messageCount: 0)
        #expect(timer.remaining == .zero)
        timer.update(isOnline: true, elapsed: .seconds(1), messageCount: 0)
        #expect(timer.remaining == .zero)
    }

    @Test func `with a cut every three seconds the time between the cuts is added`() {
        var timer = onlineTimer()
        var seconds = 0
        while timer.remaining > .zero, seconds < 100 {
            seconds += 1
            timer.update(isOnline: seconds % 3 != 0, elapsed: .seconds(1), messageCount: 0)
        }
        // Three seconds before the first cut count, then two of each three.
        #expect(seconds == 14)
    }

    @Test func `connections shorter than the time between two checks → their durations are added`() {
        var timer = onlineTimer()
        var count = 0
        while timer.remaining > .zero, count < 1000 {
            count += 1
            timer.update(isOnline: false, elapsed: .milliseconds(50), messageCount: 0)
            timer.update(isOnline: true, elapsed: .seconds(2), messageCount: 0)
        }
        #expect(count == 200)
    }

    @Test func `lines that are not written → reset the time, and it begins when they are`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 0)
        for _ in 1...3 { timer.update(isOnline: true, isBlocked: true, elapsed: .seconds(60), messageCount: 0) }
        #expect(timer.remaining == .seconds(10))
        timer.update(isOnline: true, elapsed: .seconds(4), messageCount: 0)
        #expect(timer.remaining == .seconds(6))
    }

    @Test func `time before a cut counts, time offline does not`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(3), messageCount: 0)
        timer.update(isOnline: false, elapsed: .seconds(1), messageCount: 0)
        timer.update(isOnline: false, elapsed: .seconds(100), messageCount: 0)
        timer.update(isOnline: true, elapsed: .seconds(100), messageCount: 0)
        #expect(timer.remaining == .seconds(6))
    }

    @Test func `a message resets the time, also offline`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 0)
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 1)
        #expect(timer.remaining == .seconds(10))
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 1)
        timer.update(isOnline: false, elapsed: .seconds(1), messageCount: 2)
        #expect(timer.remaining == .seconds(10))
    }

    @Test func `without a connection no time is counted`() {
        var timer = IdleTimer(limit: .seconds(1))
        for _ in 1...3 { timer.update(isOnline: false, elapsed: .seconds(60), messageCount: 0) }
        #expect(timer.remaining == .seconds(1))
    }
}
