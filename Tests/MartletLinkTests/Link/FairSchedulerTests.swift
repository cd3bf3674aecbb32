import MartletWire
import Testing

@testable import MartletLink

@Suite struct FairSchedulerTests {
    private func serve(_ scheduler: inout FairScheduler, _ count: Int, byteCount: Int) -> [Int] {
        (0..<count).compactMap { _ in
            guard let turn = scheduler.next(allowsBulk: true) else { return nil }
            scheduler.served(turn.priority, byteCount: byteCount, hasMore: true)
            return turn.slot
        }
    }

    // S-47
    @Test func `sessions of a class alternate frame by frame`() {
        var scheduler = FairScheduler()
        for slot in 1...3 { scheduler.enqueue(slot, priority: .normal) }
        #expect(serve(&scheduler, 7, byteCount: 100) == [1, 2, 3, 1, 2, 3, 1])
    }

    // S-47
    @Test func `the higher class sends first while it has bytes left of its quantum`() {
        var scheduler = FairScheduler()
        scheduler.enqueue(1, priority: .low)
        scheduler.enqueue(2, priority: .urgent)
        scheduler.enqueue(3, priority: .high)
        #expect(serve(&scheduler, 10, byteCount: 16_384) == [2, 2, 2, 2, 3, 3, 3, 3, 1, 2])
    }

    @Test func `an urgent frame queued during a round is next`() {
        var scheduler = FairScheduler()
        scheduler.enqueue(1, priority: .low)
        #expect(serve(&scheduler, 5, byteCount: 16_384) == [1, 1, 1, 1, 1])
        scheduler.enqueue(2, priority: .high)
        #expect(serve(&scheduler, 1, byteCount: 100) == [2])
    }

    @Test func `bulk waits while it is not allowed, and its order remains`() {
        var scheduler = FairScheduler()
        scheduler.enqueue(1, priority: .low)
        scheduler.enqueue(2, priority: .normal)
        #expect(scheduler.next(allowsBulk: false) == nil)
        #expect(!scheduler.hasWork(allowsBulk: false))
        #expect(scheduler.hasWork(allowsBulk: true))
        #expect(scheduler.hasBulkWork)
        scheduler.enqueue(3, priority: .high)
        #expect(scheduler.next(allowsBulk: false)?.slot == 3)
        scheduler.skipHead(.high)
        #expect(scheduler.next(allowsBulk: true)?.slot == 2)
    }

    @Test func `a session is removed from any position`() {
        var scheduler = FairScheduler()
        for slot in 1...4 { scheduler.enqueue(slot, priority: .high) }
        scheduler.remove(2, priority: .high)
        scheduler.remove(9, priority: .high)
        scheduler.remove(1, priority: .low)
        #expect(serve(&scheduler, 4, byteCount: 1) == [1, 3, 4, 1])
        for slot in [1, 3, 4] { scheduler.remove(slot, priority: .high) }
        #expect(scheduler.next(allowsBulk: true) == nil)
        #expect(!scheduler.hasBulkWork)
    }

    // S-48
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `between two turns of a class all others send no more than the bound`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let maxFrame = [1000, 16_412, 40_000, 65_564][Int(seed % 4)]
        var scheduler = FairScheduler()
        var slots: [Priority: Int] = [:]
        var waited: [Priority: Int] = [:]
        var worst: [Priority: Int] = [:]
        for _ in 0..<5000 {
            // Classes become busy and idle; one that becomes busy begins to wait.
            for priority in Priority.allCases where slots[priority] == nil && random.next() % 8 == 0 {
                slots[priority] = Int(priority.rawValue)
                waited[priority] = 0
                scheduler.enqueue(Int(priority.rawValue), priority: priority)
            }
            guard let turn = scheduler.next(allowsBulk: true) else { continue }
            let byteCount = random.next() % 3 == 0 ? maxFrame : 28 + Int(random.next() % UInt64(maxFrame - 28))
            let hasMore = random.next() % 50 != 0
            scheduler.served(turn.priority, byteCount: byteCount, hasMore: hasMore)
            worst[turn.priority] = max(worst[turn.priority] ?? 0, waited[turn.priority] ?? 0)
            waited[turn.priority] = 0
            for priority in slots.keys where priority != turn.priority { waited[priority]! += byteCount }
            if !hasMore {
                slots[turn.priority] = nil
                waited[turn.priority] = nil
            }
        }
        for priority in Priority.allCases {
            let bound = FairScheduler.waitBoundByteCount(of: priority, maxFrameByteCount: maxFrame)
            #expect(worst[priority] ?? 0 <= bound)
        }
        #expect(worst.count == 4)
    }
}
