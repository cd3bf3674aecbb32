/// Deadlines by key, at most one for each key.
///
/// Each key has a slot in a ``DeadlineHeap``, so setting, moving and cancelling a deadline is O(log n) with one hash of
/// the key. A cancelled deadline leaves nothing behind: memory is bounded by the greatest number of keys that had a
/// deadline at one time. Equal deadlines expire in the order in which they were set, so equal events give equal order.
public struct DeadlineQueue<Key: Hashable & Sendable, Deadline: Comparable & Sendable>: Sendable {
    @usableFromInline
    var timers = DeadlineHeap<Deadline>()
    @usableFromInline
    var slotOfKey: [Key: Int] = [:]
    /// By number; nil where it is free.
    @usableFromInline
    var keys: ContiguousArray<Key?> = []
    @usableFromInline
    var freeSlots: ContiguousArray<Int> = []

    /// A queue without deadlines.
    @inlinable
    public init() {}

    /// How many keys have a deadline.
    @inlinable
    public var count: Int { slotOfKey.count }

    /// Whether no key has a deadline.
    @inlinable
    public var isEmpty: Bool { timers.isEmpty }

    /// The earliest deadline of all.
    @inlinable
    public var earliest: Deadline? { timers.earliest }

    /// The deadline of `key`, if it has one.
    @inlinable
    public func deadline(of key: Key) -> Deadline? {
        slotOfKey[key].flatMap { timers.deadline(of: $0) }
    }

    /// Gives `key` this deadline in place of any that it had; `nil` cancels. Setting what is set already changes
    /// nothing.
    @inlinable
    public mutating func set(_ key: Key, at deadline: Deadline?) {
        guard let deadline else { return cancel(key) }
        timers.set(slotOfKey[key] ?? takeSlot(for: key), at: deadline)
    }

    /// Takes the deadline of `key` away, if it has one.
    @inlinable
    public mutating func cancel(_ key: Key) {
        guard !isEmpty, let slot = slotOfKey.removeValue(forKey: key) else { return }
        timers.cancel(slot)
        free(slot)
    }

    /// Takes the key whose deadline is the earliest, if that is at or before `now`.
    ///
    /// Call until it answers `nil`.
    @inlinable
    public mutating func popExpired(now: Deadline) -> Key? {
        guard let slot = timers.popExpired(now: now), let key = keys[slot] else { return nil }
        slotOfKey[key] = nil
        free(slot)
        return key
    }

    /// Takes every deadline away, and the memory.
    @inlinable
    public mutating func removeAll() {
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
