import Testing

@testable import MartletTransport

@Suite struct BusyPollTests {
    @Test func `a loop that knows nothing yet, or may not, looks for nothing`() {
        #expect(!BusyPoll(limit: 50_000).isWorthwhile)
        var never = BusyPoll(limit: 0)
        for _ in 0..<100 { never.waited(0) }
        #expect(!never.isWorthwhile)
    }

    @Test func `events that come close on each other are looked for, after a while of them`() {
        var poll = BusyPoll(limit: 50_000)
        var count = 0
        while !poll.isWorthwhile, count < 100 {
            poll.waited(10_000)
            count += 1
        }
        #expect(count == 23)
        for _ in 0..<100 { poll.waited(49_000) }
        #expect(poll.isWorthwhile)
        for _ in 0..<100 { poll.waited(51_000) }
        #expect(!poll.isWorthwhile)
    }

    @Test(arguments: [1_000_000, UInt64.max])
    func `one pause ends it, however long, and it is soon forgotten`(_ pause: UInt64) {
        var poll = BusyPoll(limit: 50_000)
        for _ in 0..<100 { poll.waited(10_000) }
        poll.waited(pause)
        #expect(!poll.isWorthwhile)
        for _ in 0..<12 { poll.waited(10_000) }
        #expect(poll.isWorthwhile)
    }
}
