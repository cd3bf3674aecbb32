/// A queue of deadlines by key, at most one for each key.
///
/// A table assigns a slot to each key, and `SlotTimers` keeps the deadlines of the slots. Setting, changing and
/// removing a deadline are O(log n) with one hash of the key. A removed deadline leaves no entry, so the maximum number
/// of keys at the same time bounds the memory. Equal deadlines expire in the order in which they were set, so the order
/// is deterministic.
public struct TimerQueue<Key: Hashable & Sendable>: Sendable {
    @usableFromInline
    var timers = SlotTimers()
    @usableFromInline
    var slotOfKey: [Key: Int] = [:]
    /// The keys by slot; nil for a free slot.
    @usableFromInline
    var keys: ContiguousArray<Key?> = []
    @usableFromInline
    var freeSlots: ContiguousArray<Int> = []

    /// Creates an empty queue.
    @inlinable
    public init() {}

    /// The number of keys with a deadline.
    @inlinable
    public var count: Int { slotOfKey.count }

    /// A Boolean value that indicates whether no key has a deadline.
    @inlinable
    public var isEmpty: Bool { timers.isEmpty }

    /// The earliest deadline; nil if there is none.
    @inlinable
    public var earliest: Instant? { timers.earliest }

    /// Returns the deadline of a key; nil if it has none.
    @inlinable
    public func deadline(of key: Key) -> Instant? {
        slotOfKey[key].flatMap { timers.deadline(of: $0) }
    }

    /// Sets or replaces the deadline of a key; nil removes it. An equal deadline changes nothing.
    @inlinable
    public mutating func set(_ key: Key, at deadline: Instant?) {
        guard let deadline else { return cancel(key) }
        timers.set(slotOfKey[key] ?? takeSlot(for: key), at: deadline)
    }

    /// Removes the deadline of a key, if it has one.
    @inlinable
    public mutating func cancel(_ key: Key) {
        guard !isEmpty, let slot = slotOfKey.removeValue(forKey: key) else { return }
        timers.cancel(slot)
        free(slot)
    }

    /// Removes and returns the key with the earliest deadline if this is at or before `now`; otherwise nil. The caller
    /// repeats the call until the result is nil.
    @inlinable
    public mutating func popExpired(now: Instant) -> Key? {
        guard let slot = timers.popExpired(now: now), let key = keys[slot] else { return nil }
        slotOfKey[key] = nil
        free(slot)
        return key
    }

    /// Removes all deadlines and releases the memory.
    @inlinable
    public mutating func removeAll() {
        self = TimerQueue()
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
