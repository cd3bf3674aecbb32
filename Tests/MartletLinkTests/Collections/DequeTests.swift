import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

@Suite struct DequeTests {
    @Test func `elements are removed in the order in which they were appended`() {
        var queue: Deque = [1, 2]
        queue.append(3)
        #expect(queue.popFirst() == 1)
        #expect(queue.popFirst() == 2)
        #expect(queue.popFirst() == 3)
        #expect(queue.popFirst() == nil)
        #expect(queue.popLast() == nil)
    }

    @Test func `elements are removed from both ends`() {
        var queue = Deque<String>()
        queue.append("a")
        queue.append("b")
        queue.append("c")
        #expect(Array(queue) == ["a", "b", "c"])
        #expect(queue.first == "a")
        #expect(queue.last == "c")
        #expect(queue.popLast() == "c")
        #expect(queue.popFirst() == "a")
        #expect(queue == ["b"])
    }

    @Test func `elements change in place and keep their positions`() {
        var queue: Deque = [[1], [2], [3]]
        _ = queue.popFirst()
        queue[1].append(4)
        #expect(Array(queue) == [[2], [3, 4]])
        queue[0] = []
        #expect(queue == [[], [3, 4]])
    }

    @Test func `an optional element that is nil is an element`() {
        var queue: Deque<Int?> = [nil, 1]
        #expect(queue.count == 2)
        #expect(queue.popFirst() == .some(nil))
        #expect(queue.popFirst() == .some(1))
    }

    @Test func `removing from the front wraps around the ring`() {
        var queue = Deque(0..<6)
        queue.removeFirst(5)
        for number in 6..<12 { queue.append(number) }
        #expect(queue.slotCount == 8)
        queue.removeFirst(3)
        #expect(Array(queue) == [8, 9, 10, 11])
        queue.removeFirst(0)
        queue.removeFirst(4)
        #expect(queue.isEmpty)
    }

    @Test func `the ring grows by doubling, and a large one is released when it becomes empty`() {
        var queue = Deque<Int>()
        #expect(queue.slotCount == 0)
        for number in 0..<Deque<Int>.retainedSlotCount { queue.append(number) }
        #expect(queue.slotCount == 256)
        queue.removeFirst(Deque<Int>.retainedSlotCount)
        #expect(queue.slotCount == 256)
        for number in 0...Deque<Int>.retainedSlotCount { queue.append(number) }
        #expect(queue.slotCount == 512)
        while queue.popLast() != nil {}
        #expect(queue.slotCount == 0)
        queue.append(1)
        queue.removeAll()
        #expect(queue.isEmpty)
        #expect(queue.slotCount == 0)
    }

    @Test func `removed elements are released`() {
        final class Token {}
        var queue = Deque<Token>()
        queue.append(Token())
        queue.append(Token())
        queue.append(Token())
        weak let first = queue[0]
        weak let second = queue[1]
        weak let third = queue[2]
        _ = queue.popFirst()
        _ = queue.popLast()
        #expect(first == nil)
        #expect(third == nil)
        queue.removeFirst(1)
        #expect(second == nil)
    }

    @Test func `a position outside the queue and a removal of more elements than it contains trap`() async {
        await #expect(processExitsWith: .failure) {
            let queue: Deque = [1]
            _ = queue[1]
        }
        await #expect(processExitsWith: .failure) {
            var queue: Deque = [1]
            queue[-1] = 2
        }
        await #expect(processExitsWith: .failure) {
            var queue: Deque = [1]
            queue.removeFirst(2)
        }
    }

    @Test(arguments: [0, 1, 5, 8, 100]) func `elements are appended at once for any start of the ring`(count: Int) {
        for turned in 0..<9 {
            var queue = Deque(repeatElement("old", count: turned))
            queue.removeFirst(turned)
            queue.append("first")
            let copy = queue
            queue.append(count: count) { "\($0)" }
            #expect(Array(queue) == ["first"] + (0..<count).map { "\($0)" })
            #expect(Array(copy) == ["first"])
        }
    }

    @Test func `equality and hash do not depend on the start of the ring`() {
        var turned: Deque = [0, 1]
        turned.append(2)
        _ = turned.popFirst()
        let straight: Deque = [1, 2]
        #expect(turned == straight)
        #expect(turned.hashValue == straight.hashValue)
        #expect(turned != [1, 3])
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func `random operations give the results of an array`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = Deque<Int>()
        var model: [Int] = []
        for step in 0..<5000 {
            switch Int.random(in: 0..<100, using: &random) {
            case ..<55: queue.append(step); model.append(step)
            case ..<75: #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            case ..<90: #expect(queue.popLast() == model.popLast())
            case ..<99:
                let dropCount = Int.random(in: 0...min(model.count, 5), using: &random)
                queue.removeFirst(dropCount)
                model.removeFirst(dropCount)
            default: queue.removeAll(); model.removeAll()
            }
            #expect(queue.elementsEqual(model))
            #expect(queue.slotCount & max(queue.slotCount - 1, 0) == 0)
        }
    }
}
