import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct TimerQueueTests {
    private func at(_ seconds: UInt64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func `Keys expire by deadline, not before`() {
        var timers = TimerQueue<String>()
        timers.set("late", at: at(3))
        timers.set("early", at: at(1))
        #expect(timers.earliest == at(1))
        #expect(timers.popExpired(now: .zero) == nil)
        #expect(timers.popExpired(now: at(3)) == "early")
        #expect(timers.popExpired(now: at(3)) == "late")
        #expect(timers.popExpired(now: at(3)) == nil)
        #expect(timers.isEmpty)
        #expect(timers.earliest == nil)
    }

    @Test func `A key has one deadline; setting replaces it, nil cancels it`() {
        var timers = TimerQueue<String>()
        timers.set("a", at: at(5))
        timers.set("b", at: at(3))
        timers.set("a", at: at(1))
        #expect(timers.count == 2)
        #expect(timers.deadline(of: "a") == at(1))
        #expect(timers.earliest == at(1))
        timers.set("a", at: at(9))
        #expect(timers.earliest == at(3))
        timers.set("b", at: nil)
        #expect(timers.deadline(of: "b") == nil)
        #expect(timers.earliest == at(9))
        timers.cancel("nobody")
        timers.removeAll()
        #expect(timers.count == 0)
        #expect(timers.deadline(of: "a") == nil)
    }

    @Test func `Equal deadlines expire in the order in which they were set`() {
        var timers = TimerQueue<Int>()
        for key in 0..<20 { timers.set(key, at: at(1)) }
        timers.set(0, at: at(2))
        timers.set(0, at: at(1))
        timers.set(1, at: at(1))
        var order: [Int] = []
        while let key = timers.popExpired(now: at(1)) { order.append(key) }
        #expect(order == Array(1..<20) + [0])
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func `Any run of operations gives what a sorted list gives`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var timers = TimerQueue<Int>()
        var model: [Int: UInt64] = [:]
        var mostKeys = 0
        for _ in 0..<5000 {
            let key = Int.random(in: 0..<60, using: &random)
            let second = UInt64.random(in: 0..<1000, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case ..<6: timers.set(key, at: at(second)); model[key] = second
            case ..<8: timers.cancel(key); model[key] = nil
            default:
                let popped = timers.popExpired(now: at(second))
                let due = model.filter { $0.value <= second }
                #expect((popped == nil) == due.isEmpty)
                if let popped { #expect(model.removeValue(forKey: popped) == due.values.min()) }
            }
            mostKeys = max(mostKeys, model.count)
            #expect(timers.keys.count <= mostKeys)
            #expect(timers.count == model.count)
            #expect(timers.earliest == model.values.min().map(at))
            #expect(timers.deadline(of: key) == model[key].map(at))
        }
    }
}
