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

    //
    @Test func `items with more bytes than the maximum → those that fit, and the loss of others`() throws {
        var queue = BusQueue()
        let long = BusEntries(
            room: .lobby, log: LogID(rawValue: 1), offset: 1, batch: [UInt8](repeating: 1, count: 1024 * 1024))
        for _ in 0..<5 { queue.append(BusMessage(.entries(long))) }
        queue.append(BusMessage(.changed(.lobby)))
        guard case .bus(let messages, hasLost: true)? = queue.take() else {
            Issue.record("no item is lost")
            return
        }
        #expect(messages.count == 4 && messages.last == BusMessage(.changed(.lobby)))
    }
}
