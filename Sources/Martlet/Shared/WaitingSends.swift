import MartletLink
import MartletTransport
import MartletWire

/// The pending sends of a room in the order of the calls (C-107).
///
/// | state | left by |
/// |---|---|
/// | waits for room, with a number | `popFirst`, when there is room; `withdraw` |
/// | waits for the outbox, with the message's counter | `take`, when the outbox has answered |
///
/// A withdrawn send leaves a hole, so that a withdrawal costs O(log n). Holes are removed when they reach the front,
/// and all at once when they outnumber the sends.
struct WaitingSends: Sendable {
    struct Entry: Sendable {
        let message: OutgoingMessage
        let promise: Promise<MessageHandle>
    }

    private struct Slot: Sendable {
        let number: UInt64
        var entry: Entry?
    }

    /// The number of holes that are always retained.
    private static let maxKeptHoleCount = 64

    /// The slots in the order of their numbers. The first slot is not a hole.
    private var slots = Deque<Slot>()
    private var lastNumber: UInt64 = 0
    private var storing: [UInt64: Promise<MessageHandle>] = [:]
    /// The number of sends that wait for room.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var first: Entry? { slots.first?.entry }

    /// Adds a send that waits for room, and returns its number.
    mutating func append(_ message: OutgoingMessage, _ promise: Promise<MessageHandle>) -> UInt64 {
        lastNumber += 1
        slots.append(Slot(number: lastNumber, entry: Entry(message: message, promise: promise)))
        count += 1
        return lastNumber
    }

    mutating func popFirst() -> Entry? {
        guard let first = slots.popFirst()?.entry else { return nil }
        count -= 1
        removeHoles()
        return first
    }

    /// Removes a send; false if it no longer waits for room.
    mutating func withdraw(_ number: UInt64) -> Bool {
        guard let index = index(of: number), slots[index].entry != nil else { return false }
        slots[index].entry = nil
        count -= 1
        removeHoles()
        return true
    }

    /// Adds a send whose message waits for the outbox.
    mutating func store(_ counter: UInt64, _ promise: Promise<MessageHandle>) {
        storing[counter] = promise
    }

    /// The counter of a message that waits for the outbox.
    func counter(of promise: Promise<MessageHandle>) -> UInt64? {
        storing.first { $0.value === promise }?.key
    }

    /// Removes a send whose message waited for the outbox.
    mutating func take(_ counter: UInt64) -> Promise<MessageHandle>? {
        storing.removeValue(forKey: counter)
    }

    /// Removes the sends that wait for room.
    mutating func removeWaiting() -> [Promise<MessageHandle>] {
        defer {
            slots = Deque()
            count = 0
        }
        return slots.compactMap { $0.entry?.promise }
    }

    /// Removes all sends.
    mutating func removeAll() -> [Promise<MessageHandle>] {
        defer { storing = [:] }
        return removeWaiting() + storing.sorted { $0.key < $1.key }.map(\.value)
    }

    private mutating func removeHoles() {
        while let first = slots.first, first.entry == nil { _ = slots.popFirst() }
        guard slots.count - count > max(count, Self.maxKeptHoleCount) else { return }
        slots = Deque(slots.filter { $0.entry != nil })
    }

    private func index(of number: UInt64) -> Int? {
        var low = 0
        var high = slots.count
        while low < high {
            let middle = (low + high) / 2
            if slots[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < slots.count && slots[low].number == number ? low : nil
    }
}
