/// Deadlines by key, at most one for each, the earliest always at hand.
///
/// A binary heap over slots that know their place in it, so that setting, moving and cancelling are O(log n) with one
/// hash of the key, and nothing cancelled stays behind: the memory is bounded by the most keys that were set at once.
/// Equal deadlines expire in the order in which they were set, so the same events always give the same order, and a key
/// that is set again at once waits its turn.
public struct TimerQueue<Key: Hashable & Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline var deadline: Instant
        @usableFromInline var order: UInt64
        @usableFromInline var slot: Int

        @inlinable
        init(deadline: Instant, order: UInt64, slot: Int) {
            self.deadline = deadline
            self.order = order
            self.slot = slot
        }

        @inlinable
        func precedes(_ other: Entry) -> Bool {
            deadline == other.deadline ? order < other.order : deadline < other.deadline
        }
    }

    /// A key and its place in the heap; without a key, free.
    @usableFromInline
    struct Slot: Sendable {
        @usableFromInline var key: Key?
        @usableFromInline var place: Int

        @inlinable
        init(key: Key?, place: Int) {
            self.key = key
            self.place = place
        }
    }

    @usableFromInline
    var heap: ContiguousArray<Entry> = []
    @usableFromInline
    var slots: ContiguousArray<Slot> = []
    @usableFromInline
    var freeSlots: ContiguousArray<Int> = []
    @usableFromInline
    var slotOfKey: [Key: Int] = [:]
    @usableFromInline
    var setCount: UInt64 = 0

    /// A queue without deadlines.
    @inlinable
    public init() {}

    /// How many keys have a deadline.
    @inlinable
    public var count: Int { heap.count }

    /// Whether no key has a deadline.
    @inlinable
    public var isEmpty: Bool { heap.isEmpty }

    /// The earliest deadline of all.
    @inlinable
    public var earliest: Instant? { heap.first?.deadline }

    /// The deadline of `key`, if it has one.
    @inlinable
    public func deadline(of key: Key) -> Instant? {
        slotOfKey[key].map { heap[slots[$0].place].deadline }
    }

    /// Gives `key` this deadline in place of any that it had; `nil` cancels. Setting what is set already changes
    /// nothing.
    @inlinable
    public mutating func set(_ key: Key, at deadline: Instant?) {
        guard let deadline else { return cancel(key) }
        if let slot = slotOfKey[key] {
            let place = slots[slot].place
            guard heap[place].deadline != deadline else { return }
            settle(Entry(deadline: deadline, order: nextOrder(), slot: slot), at: place)
        } else {
            let entry = Entry(deadline: deadline, order: nextOrder(), slot: takeSlot(for: key))
            heap.append(entry)
            settle(entry, at: heap.count - 1)
        }
    }

    /// Takes the deadline of `key` away, if it has one.
    @inlinable
    public mutating func cancel(_ key: Key) {
        guard !isEmpty, let slot = slotOfKey.removeValue(forKey: key) else { return }
        let place = slots[slot].place
        slots[slot].key = nil
        freeSlots.append(slot)
        let last = heap.removeLast()
        if place < heap.count { settle(last, at: place) }
    }

    /// Takes the key whose deadline is the earliest, if that is at or before `now`.
    ///
    /// Call until it answers `nil`.
    @inlinable
    public mutating func popExpired(now: Instant) -> Key? {
        guard let first = heap.first, first.deadline <= now, let key = slots[first.slot].key else { return nil }
        cancel(key)
        return key
    }

    /// Takes every deadline away, and the memory.
    @inlinable
    public mutating func removeAll() {
        self = TimerQueue()
    }

    @inlinable
    mutating func nextOrder() -> UInt64 {
        setCount += 1
        return setCount
    }

    @inlinable
    mutating func takeSlot(for key: Key) -> Int {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot(key: key, place: 0)) } else { slots[slot].key = key }
        slotOfKey[key] = slot
        return slot
    }

    /// Puts `entry` where it belongs, starting from a place whose present entry may be overwritten.
    @inlinable
    mutating func settle(_ entry: Entry, at start: Int) {
        var place = start
        while place > 0, entry.precedes(heap[(place - 1) / 2]) {
            put(heap[(place - 1) / 2], at: place)
            place = (place - 1) / 2
        }
        while place * 2 + 1 < heap.count {
            var child = place * 2 + 1
            if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
            guard heap[child].precedes(entry) else { break }
            put(heap[child], at: place)
            place = child
        }
        put(entry, at: place)
    }

    @inlinable
    mutating func put(_ entry: Entry, at place: Int) {
        heap[place] = entry
        slots[entry.slot].place = place
    }
}
