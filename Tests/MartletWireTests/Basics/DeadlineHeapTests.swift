import MartletWire
import Testing

@Suite struct DeadlineHeapTests {
    @Test func `slots expire by deadline, and equal deadlines in the order in which they were set`() {
        var timers = DeadlineHeap<Int>()
        #expect(timers.earliest == nil && timers.isEmpty)
        timers.set(7, at: 3)
        timers.set(1, at: 2)
        timers.set(4, at: 2)
        timers.set(0, at: 1)
        #expect(timers.earliest == 1)
        #expect(timers.popExpired(now: 0) == nil)
        #expect([1, 2, 3, 4].map { _ in timers.popExpired(now: 3) } == [0, 1, 4, 7])
        #expect(timers.popExpired(now: 9) == nil && timers.isEmpty)
    }

    @Test func `setting a deadline moves its slot, an equal one keeps the order, nil removes it`() {
        var timers = DeadlineHeap<Int>()
        for slot in 0..<4 { timers.set(slot, at: 5) }
        timers.set(2, at: 1)
        timers.set(0, at: 9)
        timers.set(1, at: 5)
        timers.set(3, at: nil)
        timers.cancel(3)
        timers.cancel(99)
        #expect([1, 2, 3].map { _ in timers.popExpired(now: 9) } == [2, 1, 0])
        #expect(timers.isEmpty)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `random operations give the results of a sorted list`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var timers = DeadlineHeap<Int>()
        var model: [(deadline: Int, slot: Int)] = []
        for step in 0..<3000 {
            let slot = Int(random.next() % 64)
            let deadline = random.next() % 5 == 0 ? nil : step / 8 + Int(random.next() % 40)
            timers.set(slot, at: deadline)
            if let known = model.firstIndex(where: { $0.slot == slot }), model[known].deadline != deadline {
                model.remove(at: known)
            }
            if let deadline, !model.contains(where: { $0.slot == slot }) {
                // Behind all equal deadlines.
                model.insert((deadline, slot), at: model.firstIndex { $0.deadline > deadline } ?? model.count)
            }
            #expect(timers.earliest == model.first?.deadline)
            #expect(timers.deadline(of: slot) == deadline)
            guard random.next() % 4 == 0 else { continue }
            let due = model.first.flatMap { $0.deadline <= step / 8 ? $0.slot : nil }
            #expect(timers.popExpired(now: step / 8) == due)
            if due != nil { model.removeFirst() }
        }
    }
}
