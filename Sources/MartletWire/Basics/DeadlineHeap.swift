/// Deadlines by slot number: a binary heap in which each slot has at most one deadline.
///
/// The heap stores the index of each slot's entry. A deadline of 8 bytes takes 20 bytes. Equal deadlines expire in the
/// order in which they were set.
@usableFromInline
package struct DeadlineHeap<Deadline: Comparable & Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline var deadline: Deadline
        /// Wraps around; only differences are compared.
        @usableFromInline var order: UInt32
        @usableFromInline var slot: Int32

        @inlinable
        init(deadline: Deadline, order: UInt32, slot: Int32) {
            self.deadline = deadline
            self.order = order
            self.slot = slot
        }

        @inlinable
        func precedes(_ other: Entry) -> Bool {
            deadline == other.deadline
                ? Int32(bitPattern: order &- other.order) < 0 : deadline < other.deadline
        }
    }

    @usableFromInline var heap: ContiguousArray<Entry> = []
    /// The index of each slot's entry in the heap; negative without an entry.
    @usableFromInline var places: ContiguousArray<Int32> = []
    @usableFromInline var setCount: UInt32 = 0

    /// Creates a heap without deadlines.
    @inlinable
    package init() {}

    /// Whether no slot has a deadline.
    @inlinable
    package var isEmpty: Bool { heap.isEmpty }

    /// The number of slots with a deadline.
    @inlinable
    package var count: Int { heap.count }

    /// The earliest deadline.
    @inlinable
    package var earliest: Deadline? { heap.first?.deadline }

    /// The deadline of a slot; nil without one.
    @inlinable
    package func deadline(of slot: Int) -> Deadline? {
        guard slot < places.count, places[slot] >= 0 else { return nil }
        return heap[Int(places[slot])].deadline
    }

    /// Replaces the deadline of a slot; nil cancels it. Setting the same deadline again has no effect.
    @inlinable
    package mutating func set(_ slot: Int, at deadline: Deadline?) {
        guard let deadline else { return cancel(slot) }
        while places.count <= slot { places.append(-1) }
        var place = Int(places[slot])
        if place >= 0, heap[place].deadline == deadline { return }
        setCount &+= 1
        let entry = Entry(deadline: deadline, order: setCount, slot: Int32(slot))
        if place < 0 {
            place = heap.count
            heap.append(entry)
        }
        settle(entry, at: place)
    }

    /// Removes the deadline of a slot, if there is one.
    @inlinable
    package mutating func cancel(_ slot: Int) {
        guard slot < places.count, places[slot] >= 0 else { return }
        let place = Int(places[slot])
        places[slot] = -1
        let last = heap.removeLast()
        if place < heap.count { settle(last, at: place) }
    }

    /// Removes the earliest deadline if it is at or before `now`, and returns its slot; nil if none has expired.
    @inlinable
    package mutating func popExpired(now: Deadline) -> Int? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        cancel(Int(first.slot))
        return Int(first.slot)
    }

    /// Moves `entry` from `start`, whose entry is overwritten, to its index in the heap.
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
        places[Int(entry.slot)] = Int32(place)
    }
}
