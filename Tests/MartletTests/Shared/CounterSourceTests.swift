import Testing

@testable import Martlet

@Suite("Message counters of a device") struct CounterSourceTests {
    // W-60
    @Test func `two rooms take each counter once, and the counters of a room rise`() {
        let source = CounterSource(first: 10)
        var rooms = [RoomCounters(source), RoomCounters(source)]
        var counters: [[UInt64]] = [[], []]
        for number in 0..<300 { counters[number % 2].append(rooms[number % 2].next()) }
        #expect(Set(counters.joined()).count == 300)
        #expect(counters.joined().min() == 10)
        for own in counters { #expect(own == own.sorted()) }
    }
}
