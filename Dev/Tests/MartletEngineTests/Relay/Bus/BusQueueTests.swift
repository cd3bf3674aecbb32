import MartletTestSupport
import MartletWire
import Testing

@testable import MartletRelay

/// The items of a turn.
@Suite struct BusQueueTests {
    //
    @Test func `more items than the maximum → the first ones, and the loss of others`() throws {
        var queue = BusQueue()
        if queue.take() != nil { Issue.record("an empty queue has items") }
        for _ in 0...BusQueue.maxCount { queue.append(BusMessage(.changed(.lobby))) }
        guard case .bus(let messages, hasLost: true)? = queue.take() else {
            Issue.record("no item is lost")
            return
        }
        #expect(messages.count == BusQueue.maxCount)
    }
}
