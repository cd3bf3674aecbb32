import Testing

@testable import MartletTransport

@Suite struct JobQueueTests {
    @Test func `first push to a sleeping consumer returns wake, later pushes nothing`() {
        let queue = JobQueue()
        #expect(queue.push(.work {}) == .nothing)
        #expect(!queue.prepareToSleep())
        #expect(queue.takeAll(reusing: []).count == 1)
        #expect(queue.prepareToSleep())
        #expect(queue.push(.work {}) == .wake)
        #expect(queue.push(.work {}) == .nothing)
        #expect(queue.takeAll(reusing: []).count == 2)
    }

    @Test func `push to a consumer marked running returns nothing`() {
        let queue = JobQueue()
        #expect(queue.prepareToSleep())
        queue.markRunning()
        #expect(queue.push(.work {}) == .nothing)
    }

    @Test func `first push to a stopped consumer returns restart, and a filled queue does not stop`() {
        let queue = JobQueue()
        #expect(queue.stop())
        #expect(queue.push(.work {}) == .restart)
        #expect(queue.push(.work {}) == .nothing)
        #expect(!queue.stop())
    }
}

@Suite struct PollSlotsTests {
    @Test func `key of a removed element finds none after its slot is reused`() {
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
