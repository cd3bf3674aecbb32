import Testing

@testable import MartletRelay

@Suite struct LoopTrafficTests {
    private let half = LoopTraffic.windowCount / 2

    /// Sends messages. Returns whether a confirmation is requested, and whether the traffic is full.
    private func send(_ count: Int, _ traffic: inout LoopTraffic) -> [Bool] {
        let requests = traffic.send(count)
        return [requests, traffic.isFull]
    }

    @Test func `half a window sent requests a confirmation, and a full window is full until confirmed`() {
        var traffic = LoopTraffic()
        let steps = [half - 1, 1, half - 1, 1].map { send($0, &traffic) }
        #expect(steps == [[false, false], [true, false], [false, false], [false, true]])
        traffic.confirm()
        #expect(!traffic.isFull)
        #expect(send(1, &traffic) == [true, false])
    }

    @Test func `confirmed traffic is never full`() {
        var traffic = LoopTraffic()
        for _ in 0..<1000 {
            let step = send(1000, &traffic)
            if step[0] { traffic.confirm() }
            #expect(!step[1])
        }
    }
}
