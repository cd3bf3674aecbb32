import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct LogQueueTests {
    private func next(_ queue: inout LogQueue<Int>) -> String {
        switch queue.next() {
        case .write(let entries, let dropped): "\(entries) dropped \(dropped)"
        case .wait: "wait"
        case .end: "end"
        }
    }

    @Test func `entries are written in order`() {
        var queue = LogQueue<Int>(maxCount: 3)
        #expect(next(&queue) == "wait")
        for entry in 1...3 { queue.add(entry) }
        #expect(next(&queue) == "[1, 2, 3] dropped 0")
        #expect(next(&queue) == "wait")
    }

    @Test func `beyond the bound the oldest entries are dropped and counted`() {
        var queue = LogQueue<Int>(maxCount: 3)
        #expect((1...8).map { queue.add($0) } == [true, true, true, false, false, false, false, false])
        #expect(next(&queue) == "[6, 7, 8] dropped 5")
        queue.add(9)
        #expect(next(&queue) == "[9] dropped 0")
    }

    // Specs/hostile.md row 65
    @Test func `row 65, secondary entries take half of the queue, and others all of it`() {
        var queue = LogQueue<Int>(maxCount: 4)
        for entry in 1...9 { queue.add(entry, isSecondary: true) }
        queue.add(10)
        #expect(next(&queue) == "[1, 2, 10] dropped 7")
        for entry in 1...4 { queue.add(entry) }
        queue.add(5, isSecondary: true)
        #expect(next(&queue) == "[1, 2, 3, 4] dropped 1")
    }

    @Test func `entries that could not be written are counted with the next entry`() {
        var queue = LogQueue<Int>(maxCount: 3)
        queue.add(1)
        #expect(next(&queue) == "[1] dropped 0")
        queue.failed(count: 1)
        #expect(next(&queue) == "wait")
        queue.add(2)
        #expect(next(&queue) == "[2] dropped 1")
    }

    @Test func `a finished log is written completely and accepts no entries`() {
        var queue = LogQueue<Int>(maxCount: 1)
        for entry in 1...2 { queue.add(entry) }
        queue.finish()
        queue.add(3)
        #expect(next(&queue) == "[2] dropped 1")
        queue.failed(count: 1)
        #expect(next(&queue) == "end")
    }
}

@Suite struct LogLossesTests {
    @Test func `losses -> the first one is reported at once, later ones with their number after the interval`() {
        var losses = LogLosses()
        #expect(losses.add(at: 5) == 1)
        #expect(losses.add(at: 6) == nil)
        #expect(losses.add(at: 4 + LogLosses.interval) == nil)
        #expect(losses.add(at: 5 + LogLosses.interval) == 3)
        #expect(losses.add(at: 6 + LogLosses.interval) == nil)
        #expect(losses.takeRest() == 1)
        #expect(losses.takeRest() == nil)
    }
}
