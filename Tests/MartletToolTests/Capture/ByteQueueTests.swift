import Testing

@testable import MartletTool

@Suite struct ByteQueueTests {
    @Test func `bytes come out in order, and integers in either order`() {
        var queue = ByteQueue()
        queue.append([1, 2, 3])
        #expect(queue.take(1) == [1])
        queue.append([4, 5])
        #expect(queue.count == 4)
        #expect(queue.integer(at: 0, isLittleEndian: false) == 0x0203_0405 as UInt32)
        #expect(queue.integer(at: 1, isLittleEndian: true) == 0x0403 as UInt16)
        queue.drop(2)
        #expect(queue.takenByteCount == 3)
        #expect(queue.take(2) == [4, 5])
        #expect(queue.error("wrong") == CaptureError(place: "at byte 5", problem: "wrong"))
    }
}
