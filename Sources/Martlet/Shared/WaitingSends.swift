import MartletProtocol
import MartletWire

/// Sends that wait for room, in the order of the calls.
///
/// A send that is withdrawn leaves a hole, so that withdrawing costs the logarithm of their number. Holes go when they
/// come to the front, and all at once when they are more than the sends.
struct WaitingSends: Sendable {
    struct Entry: Sendable {
        let message: OutgoingMessage
        let shot: OneShot<Sending>
    }

    private struct Slot: Sendable {
        let ticket: UInt64
        var entry: Entry?
    }

    /// Holes that are kept, whatever the number of sends.
    private static let maxKeptHoleCount = 64

    /// In the order of their tickets; the first is no hole.
    private var slots = Deque<Slot>()
    private var lastTicket: UInt64 = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var first: Entry? { slots.first?.entry }

    /// Answers what the send can be withdrawn with.
    mutating func append(_ message: OutgoingMessage, _ shot: OneShot<Sending>) -> UInt64 {
        lastTicket += 1
        slots.append(Slot(ticket: lastTicket, entry: Entry(message: message, shot: shot)))
        count += 1
        return lastTicket
    }

    mutating func popFirst() -> Entry? {
        guard let first = slots.popFirst()?.entry else { return nil }
        count -= 1
        dropHoles()
        return first
    }

    /// False when the send does not wait any more.
    mutating func withdraw(_ ticket: UInt64) -> Bool {
        guard let position = position(of: ticket), slots[position].entry != nil else { return false }
        slots[position].entry = nil
        count -= 1
        dropHoles()
        return true
    }

    mutating func removeAll() -> [OneShot<Sending>] {
        defer {
            slots = Deque()
            count = 0
        }
        return slots.compactMap { $0.entry?.shot }
    }

    private mutating func dropHoles() {
        while let first = slots.first, first.entry == nil { _ = slots.popFirst() }
        guard slots.count - count > max(count, Self.maxKeptHoleCount) else { return }
        slots = Deque(slots.filter { $0.entry != nil })
    }

    private func position(of ticket: UInt64) -> Int? {
        var low = 0
        var high = slots.count
        while low < high {
            let middle = (low + high) / 2
            if slots[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        return low < slots.count && slots[low].ticket == ticket ? low : nil
    }
}
