/// Deadlines by key, at most one for each key.
///
/// Each key has a slot in a ``DeadlineHeap``, so setting, moving and cancelling a deadline is O(log n) with one hash of
/// the key. A cancelled deadline leaves nothing behind: memory is bounded by the greatest number of keys that had a
/// deadline at one time. Equal deadlines expire in the order in which they were set, so equal events give equal order.
@usableFromInline
package struct DeadlineQueue<Key: Hashable & Sendable, Deadline: Comparable & Sendable>: Sendable {
    @usableFromInline
    var timers = DeadlineHeap<Deadline>()
    @usableFromInline
    var slotOfKey: [Key: Int] = [:]
    /// The keys by slot; nil for a free slot.
    @usableFromInline
    var keys: ContiguousArray<Key?> = []
    @usableFromInline
    var freeSlots: ContiguousArray<Int> = []

    /// Creates an empty queue.
    @inlinable
    package init() {}

    /// The number of keys with a deadline.
    @inlinable
    package var count: Int { slotOfKey.count }

    /// Whether no key has a deadline.
    @inlinable
    package var isEmpty: Bool { timers.isEmpty }

    /// The earliest deadline; nil if there is none.
    @inlinable
    package var earliest: Deadline? { timers.earliest }

    /// Returns the deadline of a key; nil if it has none.
    @inlinable
    package func deadline(of key: Key) -> Deadline? {
        slotOfKey[key].flatMap { timers.deadline(of: $0) }
    }

    /// Sets or replaces the deadline of a key; nil removes it. An equal deadline changes nothing.
    @inlinable
    package mutating func set(_ key: Key, at deadline: Deadline?) {
        guard let deadline else { return cancel(key) }
        timers.set(slotOfKey[key] ?? takeSlot(for: key), at: deadline)
    }

    /// Removes the deadline of a key, if it has one.
    @inlinable
    package mutating func cancel(_ key: Key) {
        guard !isEmpty, let slot = slotOfKey.removeValue(forKey: key) else { return }
        timers.cancel(slot)
        free(slot)
    }

    /// Removes and returns the key with the earliest deadline if this is at or before `now`; otherwise nil. The caller
    /// repeats the call until the result is nil.
    @inlinable
    package mutating func popExpired(now: Deadline) -> Key? {
        guard let slot = timers.popExpired(now: now), let key = keys[slot] else { return nil }
        slotOfKey[key] = nil
        free(slot)
        return key
    }

    /// Removes all deadlines and releases the memory.
    @inlinable
    package mutating func removeAll() {
        self = DeadlineQueue()
    }

    @inlinable
    mutating func takeSlot(for key: Key) -> Int {
        let slot = freeSlots.popLast() ?? keys.count
        if slot == keys.count { keys.append(key) } else { keys[slot] = key }
        slotOfKey[key] = slot
        return slot
    }

    @inlinable
    mutating func free(_ slot: Int) {
        keys[slot] = nil
        freeSlots.append(slot)
    }
}
