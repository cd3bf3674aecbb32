import MartletWire
import Testing

@testable import Martlet

@Suite("A room's inbox")
struct InboxTests {
    private func message(_ offset: UInt64) throws -> Inbox.Item {
        let stamp = RelayStamp(
            offset: offset, acceptedAt: 0, sender: AccountName("bob")!, device: DeviceID(rawValue: 1))
        let message = Message(counter: offset, kind: .text, content: Message.textContent("x"), relay: stamp)
        return .message(try #require(RoomMessage(message)), creditByteCount: 10)
    }

    private func gaps(_ inbox: Inbox) -> [ClosedRange<UInt64>] {
        inbox.items.compactMap { if case .gap(let offsets) = $0 { offsets } else { nil } }
    }

    @Test func `all is taken at once, in order`() throws {
        var inbox = Inbox()
        inbox.append([try message(1), try message(2)])
        inbox.append([try message(3)])
        var taken: [Inbox.Item] = []
        inbox.take(leaving: &taken)
        #expect(taken.map(\.offset) == [1, 2, 3])
        #expect(inbox.items.isEmpty)
    }

    @Test func `storage is used again, but for that of a burst`() throws {
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

    @Test func `what was not handed out comes back to the front`() throws {
        var inbox = Inbox()
        inbox.append([try message(1), try message(2)])
        var taken: [Inbox.Item] = []
        inbox.take(leaving: &taken)
        inbox.append([try message(3)])
        inbox.giveBack(taken[1...])
        #expect(inbox.items.map(\.offset) == [2, 3])
    }

    @Test func `neighbouring gaps are one, and all are counted`() throws {
        var inbox = Inbox()
        inbox.append([.gap(1...3), .gap(4...5), try message(6), .gap(7...7)])
        #expect(gaps(inbox) == [1...5, 7...7])
        #expect(inbox.skippedMessages == 6)
    }

    @Test func `gaps cannot fill the inbox`() {
        var inbox = Inbox()
        let count = UInt64(Inbox.maxWaitingGaps)
        inbox.append((0..<(3 * count)).map { .gap((10 * $0 + 1)...(10 * $0 + 2)) })
        #expect(gaps(inbox).count == Inbox.maxWaitingGaps)
        #expect(gaps(inbox).last?.upperBound == 10 * (3 * count - 1) + 2)
    }
}
