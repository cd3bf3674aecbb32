import Testing

@testable import MartletRelay

@Suite struct LoopTrafficTests {
    private let half = LoopTraffic.windowCount / 2

    /// Tells so many; what is said of that, and whether it is full then.
    private func tell(_ count: Int, _ traffic: inout LoopTraffic) -> [Bool] {
        let asks = traffic.tell(count)
        return [asks, traffic.isFull]
    }

    @Test func `half a window asks, another half holds up, and an answer lets go`() {
        var traffic = LoopTraffic()
        let steps = [half - 1, 1, half - 1, 1].map { tell($0, &traffic) }
        #expect(steps == [[false, false], [true, false], [false, false], [false, true]])
        traffic.caughtUp()
        #expect(!traffic.isFull)
        #expect(tell(1, &traffic) == [true, false])
    }

    @Test func `who is answered in time is never held up`() {
        var traffic = LoopTraffic()
        for _ in 0..<1000 {
            let step = tell(1000, &traffic)
            if step[0] { traffic.caughtUp() }
            #expect(!step[1])
        }
    }
}
