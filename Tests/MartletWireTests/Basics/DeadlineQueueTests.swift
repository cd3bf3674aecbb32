import Testing

@testable import MartletWire

@Suite struct DeadlineQueueTests {
    @Test func `keys expire at their deadlines and not before`() {
        var timers = DeadlineQueue<String, UInt64>()
        timers.set("late", at: 3)
        timers.set("early", at: 1)
        #expect(timers.earliest == 1)
        #expect(timers.popExpired(now: 0) == nil)
        #expect(timers.popExpired(now: 3) == "early")
        #expect(timers.popExpired(now: 3) == "late")
        #expect(timers.popExpired(now: 3) == nil)
        #expect(timers.isEmpty)
        #expect(timers.earliest == nil)
    }

    @Test func `a key has one deadline, which setting replaces and nil cancels`() {
        var timers = DeadlineQueue<String, UInt64>()
        timers.set("a", at: 5)
        timers.set("b", at: 3)
        timers.set("a", at: 1)
        #expect(timers.count == 2)
        #expect(timers.deadline(of: "a") == 1)
        #expect(timers.earliest == 1)
        timers.set("a", at: 9)
        #expect(timers.earliest == 3)
        timers.set("b", at: nil)
        #expect(timers.deadline(of: "b") == nil)
        #expect(timers.earliest == 9)
        timers.cancel("nobody")
        timers.removeAll()
        #expect(timers.count == 0)
        #expect(timers.deadline(of: "a") == nil)
    }

    @Test func `equal deadlines expire in the order in which they were set`() {
        var timers = DeadlineQueue<Int, UInt64>()
        for key in 0..<20 { timers.set(key, at: 1) }
        timers.set(0, at: 2)
        timers.set(0, at: 1)
        timers.set(1, at: 1)
        var order: [Int] = []
        while let key = timers.popExpired(now: 1) { order.append(key) }
        #expect(order == Array(1..<20) + [0])
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func `random operations give the results of a sorted list`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var timers = DeadlineQueue<Int, UInt64>()
        var model: [Int: UInt64] = [:]
        var mostKeys = 0
        for _ in 0..<5000 {
            let key = Int.random(in: 0..<60, using: &random)
            let second = UInt64.random(in: 0..<1000, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case ..<6: timers.set(key, at: second); model[key] = second
            case ..<8: timers.cancel(key); model[key] = nil
            default:
                let popped = timers.popExpired(now: second)
                let due = model.filter { $0.value <= second }
                #expect((popped == nil) == due.isEmpty)
                if let popped { #expect(model.removeValue(forKey: popped) == due.values.min()) }
            }
            mostKeys = max(mostKeys, model.count)
            #expect(timers.keys.count <= mostKeys)
            #expect(timers.count == model.count)
            #expect(timers.earliest == model.values.min())
            #expect(timers.deadline(of: key) == model[key])
        }
    }
}
