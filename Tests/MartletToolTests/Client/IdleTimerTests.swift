import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct IdleTimerTests {
    /// A timer of 10 s that has seen the connection come up.
    private func onlineTimer() -> IdleTimer {
        var timer = IdleTimer(limit: .seconds(10))
        timer.update(isOnline: true, elapsed: .zero, messageCount: 0)
        return timer
    }

    @Test func `ten seconds online without a message run out`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(4), messageCount: 0)
        #expect(timer.remaining == .seconds(6))
        timer.update(isOnline: true, elapsed: .seconds(6), messageCount: 0)
        #expect(timer.remaining == .zero)
        timer.update(isOnline: true, elapsed: .seconds(1), messageCount: 0)
        #expect(timer.remaining == .zero)
    }

    @Test func `with a cut every three seconds the silence between the cuts adds up`() {
        var timer = onlineTimer()
        var seconds = 0
        while timer.remaining > .zero, seconds < 100 {
            seconds += 1
            timer.update(isOnline: seconds % 3 != 0, elapsed: .seconds(1), messageCount: 0)
        }
        // Two seconds before the first cut, then one of each three begins and ends online.
        #expect(seconds == 26)
    }

    @Test func `a cut keeps the silence before it, and time offline adds nothing`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(4), messageCount: 0)
        timer.update(isOnline: false, elapsed: .seconds(100), messageCount: 0)
        timer.update(isOnline: false, elapsed: .seconds(100), messageCount: 0)
        timer.update(isOnline: true, elapsed: .seconds(100), messageCount: 0)
        #expect(timer.remaining == .seconds(6))
    }

    @Test func `a message begins the silence anew, offline too`() {
        var timer = onlineTimer()
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 0)
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 1)
        #expect(timer.remaining == .seconds(10))
        timer.update(isOnline: true, elapsed: .seconds(9), messageCount: 1)
        timer.update(isOnline: false, elapsed: .seconds(1), messageCount: 2)
        #expect(timer.remaining == .seconds(10))
    }

    @Test func `without a connection from the start nothing is counted`() {
        var timer = IdleTimer(limit: .seconds(1))
        for _ in 1...3 { timer.update(isOnline: false, elapsed: .seconds(60), messageCount: 0) }
        #expect(timer.remaining == .seconds(1))
    }
}
