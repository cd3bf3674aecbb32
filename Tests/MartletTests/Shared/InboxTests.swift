import MartletLink
import MartletWire
import Testing

@testable import Martlet

@Suite("Inbox of a room")
struct InboxTests {
    private func message(_ offset: UInt64) throws -> Inbox.Item {
        let stamp = RelayStamp(
            offset: offset, acceptedAt: 0, sender: AccountName("bob"), device: DeviceID(rawValue: 1))
        let message = Message(counter: offset, kind: .text, content: Message.textContent("x"), relay: stamp)
        return .message(try #require(RoomMessage(message)), creditByteCount: 10)
    }

    private func gaps(_ inbox: Inbox) -> [ClosedRange<UInt64>] {
        inbox.items.compactMap { if case .gap(let offsets, _) = $0 { offsets } else { nil } }
    }

    @Test func `a take returns all appended items in order`() throws {
        var inbox = Inbox()
        inbox.append([try message(1), try message(2)])
        inbox.append([try message(3)])
        var taken: [Inbox.Item] = []
        inbox.take(leaving: &taken)
        #expect(taken.map(\.cursor.offset) == [1, 2, 3])
        #expect(inbox.items.isEmpty)
    }

    @Test func `a take reuses the storage, and releases the storage of a burst`() throws {
        var inbox = Inbox()
        inbox.append([try message(1)])
        var taken: [Inbox.Item] = []
        inbox.take(leaving: &taken)
        let few = taken.capacity
        taken.removeAll(keepingCapacity: true)
        inbox.take(leaving: &taken)
        #expect(inbox.items.capacity == few)
        inbox.append(try (1...UInt64(4 * Inbox.maxKeptItemCount)).map(message))
        inbox.take(leaving: &taken)
        taken.removeAll(keepingCapacity: true)
        #expect(taken.capacity > Inbox.maxKeptItemCount)
        inbox.take(leaving: &taken)
        #expect(inbox.items.capacity == 0)
    }

    @Test func `items that are put back are first in the queue, and the item in hand is reported once`() throws {
        var inbox = Inbox()
        inbox.append([try message(1), try message(2)])
        var taken: [Inbox.Item] = []
        inbox.take(leaving: &taken)
        inbox.append([try message(3)])
        inbox.putBack(taken[1...], lastReturned: taken[0].cursor)
        #expect(inbox.items.map(\.cursor.offset) == [2, 3])
        let lastReturned = [inbox.takeLastReturned()?.offset, inbox.takeLastReturned()?.offset]
        #expect(lastReturned == [1, nil])
    }

    @Test func `adjacent gaps are merged, and all offsets are counted`() throws {
        var inbox = Inbox()
        inbox.append([.gap(1...3), .gap(4...5), try message(6), .gap(7...7)])
        #expect(gaps(inbox) == [1...5, 7...7])
        #expect(inbox.skippedMessages == 6)
    }

    @Test func `gaps beyond the bound are merged into the last gap`() {
        var inbox = Inbox()
        let count = UInt64(Inbox.maxWaitingGaps)
        inbox.append((0..<(3 * count)).map { .gap((10 * $0 + 1)...(10 * $0 + 2)) })
        #expect(gaps(inbox).count == Inbox.maxWaitingGaps)
        #expect(gaps(inbox).last?.upperBound == 10 * (3 * count - 1) + 2)
    }

    // Specs/hostile.md row 34
    @Test func `gaps up to the highest offset are counted without overflow, and later gaps are kept`() {
        var inbox = Inbox()
        inbox.append([.gap(1 ... .max)])
        inbox.append([.gap(6...7), .gap(1 ... .max), .gap(.max ... .max)])
        #expect(gaps(inbox) == [1 ... .max, 6...7, 1 ... .max, .max ... .max])
        #expect(inbox.skippedMessages == .max)
    }

    // Specs/hostile.md row 34
    @Test func `replaced logs are merged into one item with the first previous and the last current cursor`() throws {
        func cursor(_ number: UInt64) -> RoomCursor { RoomCursor(log: LogID(rawValue: number), offset: number) }
        var inbox = Inbox()
        inbox.append([try message(1)])
        for number in UInt64(1)...1000 {
            inbox.append([.logReplaced(previous: cursor(number), current: cursor(number + 1)), .gap(1...2)])
        }
        #expect(inbox.items.count == 3)
        guard case .logReplaced(let previous, let current) = inbox.items[1] else {
            Issue.record("\(inbox.items[1])")
            return
        }
        #expect(previous == cursor(1))
        #expect(current == cursor(1001))
    }
}
