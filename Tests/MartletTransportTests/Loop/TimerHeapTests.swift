import MartletTransport
import MartletWire
import Testing

@testable import MartletTransport

@Suite struct TimerHeapTests {
    @Test func `due timers pop by deadline after one was moved later`() async throws {
        try await withLoop(.platformDefault) { loop in
            let order = await loop.run {
                var heap = TimerHeap()
                let moved = LoopTimer(on: loop) {}
                let other = LoopTimer(on: loop) {}
                heap.set(1, of: moved)
                heap.set(2, of: other)
                heap.set(3, of: moved)
                return [heap.popDue(at: 9) === other, heap.popDue(at: 9) === moved, heap.popDue(at: 9) == nil]
            }
            #expect(order == [true, true, true])
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func `timers pop once by deadline after random changes`(_ seed: UInt64) async throws {
        let loop = try EventLoop(name: "test")
        let (expected, actual, left) = await loop.run {
            var random = SeededRandom(seed: seed)
            var heap = TimerHeap()
            let timers = (0..<200).map { _ in LoopTimer(on: loop) {} }
            for _ in 0..<2000 {
                let timer = timers[Int(random.next() % 200)]
                heap.set(random.next() % 4 == 0 ? nil : random.next() % 1000, of: timer)
            }
            let expected = timers.compactMap(\.deadline).sorted()
            var actual: [UInt64] = []
            for now in 0..<1000 as Range<UInt64> {
                while let timer = heap.popDue(at: now) {
                    actual.append(now)
                    #expect(timer.deadline == nil && timer.heapIndex == nil)
                }
            }
            return (expected, actual, heap.count)
        }
        #expect(actual == expected)
        #expect(left == 0)
        await loop.shutdown()
    }
}
