import Testing

@testable import MartletTransport

@Suite struct JobQueueTests {
    @Test func `only the first push to a sleeping consumer wakes it`() {
        let queue = JobQueue()
        #expect(queue.push(.work {}) == .nothing)
        #expect(!queue.fallAsleep())
        #expect(queue.take(leaving: []).count == 1)
        #expect(queue.fallAsleep())
        #expect(queue.push(.work {}) == .wake)
        #expect(queue.push(.work {}) == .nothing)
        #expect(queue.take(leaving: []).count == 2)
    }

    @Test func `a consumer that marks itself awake is not woken`() {
        let queue = JobQueue()
        #expect(queue.fallAsleep())
        queue.markAwake()
        #expect(queue.push(.work {}) == .nothing)
    }

    @Test func `the first push after the end asks for a revival, and no end comes before work`() {
        let queue = JobQueue()
        #expect(queue.stop())
        #expect(queue.push(.work {}) == .revive)
        #expect(queue.push(.work {}) == .nothing)
        #expect(!queue.stop())
    }
}

@Suite struct PollSlotsTests {
    @Test func `a key of what was removed finds nobody, even when its place is taken again`() {
        var slots = PollSlots<String>()
        let first = slots.insert { _ in "first" }
        #expect(slots[first] == "first")
        #expect(slots.remove(first) == "first")
        let second = slots.insert { _ in "second" }
        #expect(second.index == first.index)
        #expect(slots[first] == nil)
        #expect(slots.remove(first) == nil)
        #expect(slots[second] == "second")
        #expect(slots.count == 1)
    }
}
