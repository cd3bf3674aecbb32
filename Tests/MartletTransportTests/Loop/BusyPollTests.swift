import Testing

@testable import MartletTransport

@Suite struct BusyPollTests {
    @Test func `a loop that knows nothing yet, or may not, looks for nothing`() {
        #expect(BusyPoll(limit: 50_000).look(after: 0) == 0)
        var never = BusyPoll(limit: 0)
        for _ in 0..<100 { never.waited(0) }
        #expect([0, 1, 1_000_000, UInt64.max].allSatisfy { never.look(after: $0) == 0 })
    }

    @Test func `events that come close on each other are looked for, after a while of them`() {
        var poll = BusyPoll(limit: 50_000)
        var count = 0
        while poll.look(after: 1000) == 0, count < 100 {
            poll.waited(10_000)
            count += 1
        }
        #expect(count == 23)
        for _ in 0..<100 { poll.waited(49_000) }
        #expect(poll.look(after: 1000) == 50_000)
        for _ in 0..<100 { poll.waited(51_000) }
        #expect(poll.look(after: 1000) == 0)
    }

    @Test(arguments: [1_000_000, UInt64.max])
    func `one pause ends it, however long, and it is soon forgotten`(_ pause: UInt64) {
        var poll = BusyPoll(limit: 50_000)
        for _ in 0..<100 { poll.waited(10_000) }
        poll.waited(pause)
        #expect(poll.look(after: 1000) == 0)
        for _ in 0..<12 { poll.waited(10_000) }
        #expect(poll.look(after: 1000) == 50_000)
    }

    @Test func `whoever has worked for longer than the limit looks for as long, up to twenty limits`() {
        var poll = BusyPoll(limit: 50_000)
        poll.waited(200_000)
        let looks = [0, 50_000, 50_001, 700_000, 1_000_000, 1_000_001, .max].map { poll.look(after: $0) }
        #expect(looks == [0, 0, 50_001, 700_000, 1_000_000, 1_000_000, 1_000_000])
    }

    @Test func `but not after a wait of more than four times the work, nor before any wait`() {
        var poll = BusyPoll(limit: 50_000)
        #expect(poll.look(after: 1_000_000) == 0)
        poll.waited(4_000_003)
        #expect(poll.look(after: 1_000_000) == 1_000_000)
        poll.waited(4_000_004)
        #expect(poll.look(after: 1_000_000) == 0)
        // Many that come close are looked for all the same.
        for _ in 0..<100 { poll.waited(10_000) }
        poll.waited(240_000)
        #expect(poll.look(after: 51_000) == 50_000)
    }
}
