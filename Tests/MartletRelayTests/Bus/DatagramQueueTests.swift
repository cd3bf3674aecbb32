import Testing

@testable import MartletRelay

@Suite struct DatagramQueueTests {
    @Test func `datagrams -> taken in their order, in batches, and those that are too long are dropped`() {
        var queue = DatagramQueue()
        queue.add((0..<300).map { [UInt8(truncatingIfNeeded: $0)] } + [[1, 2, 3]], maxDatagramByteCount: 2)
        var taken: [[[UInt8]]] = []
        while !queue.isEmpty { taken.append(queue.take()) }
        #expect(taken.map(\.count) == [256, 44])
        #expect(taken.flatMap { $0 } == (0..<300).map { [UInt8(truncatingIfNeeded: $0)] })
        #expect(queue.take().isEmpty)
    }

    @Test func `more bytes than the bound -> the oldest datagrams are dropped`() {
        var queue = DatagramQueue()
        let count = DatagramQueue.maxByteCount / 4096 + 10
        for number in 0..<count {
            queue.add([[UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 4096)], maxDatagramByteCount: 4096)
        }
        var taken: [[UInt8]] = []
        while !queue.isEmpty { taken += queue.take() }
        #expect(taken.count * 4096 <= DatagramQueue.maxByteCount && taken.count > 900)
        #expect(taken.last?.first == UInt8(truncatingIfNeeded: count - 1))
    }
}
