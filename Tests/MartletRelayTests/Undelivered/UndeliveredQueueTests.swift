import MartletLink
import MartletWire
import Testing

@testable import MartletRelay

@Suite
struct UndeliveredQueueTests {
    private func report(_ offset: Int) -> UndeliveredReport {
        UndeliveredReport(room: RoomName("lobby"), lastOffset: UInt64(offset), recipients: [])
    }

    //
    @Test("at most 16 calls are in progress, and the next one begins when one has ended")
    func calls() {
        var queue = UndeliveredQueue()
        queue.add((1...17).map(report))
        for offset in 1...16 { #expect(queue.next()?.lastOffset == UInt64(offset)) }
        #expect(queue.next() == nil)
        queue.ended()
        #expect(queue.next()?.lastOffset == 17)
        queue.ended()
        #expect(queue.next() == nil && queue.startedCount == 17 && queue.droppedCount == 0)
    }

    //
    @Test("the oldest of more than 1,024 waiting reports are dropped, with at most one event in 10 s")
    func drops() {
        var queue = UndeliveredQueue()
        queue.add((1...1026).map(report))
        let start = Instant(nanoseconds: 0)
        #expect(queue.takeDropped(now: start) == 2 && queue.takeDropped(now: start) == nil)
        queue.add([report(1027)])
        #expect(queue.takeDropped(now: start + .seconds(9)) == nil)
        #expect(queue.takeDropped(now: start + .seconds(10)) == 1)
        #expect(queue.droppedCount == 3 && queue.next()?.lastOffset == 4)
    }
}
