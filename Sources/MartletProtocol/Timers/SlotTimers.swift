/// A queue of deadlines for the slots of a table, at most one for each slot.
///
/// It is a binary heap, with the heap index of each slot: a deadline occupies 20 bytes. Equal deadlines expire in the
/// order in which they were set.
@usableFromInline
struct SlotTimers: Sendable {
    private struct Entry: Sendable {
        var deadline: Instant
        /// The order of insertion, modulo 2³². Only differences are compared.
        var order: UInt32
        var slot: Int32

        func precedes(_ other: Entry) -> Bool {
            deadline == other.deadline
                ? Int32(bitPattern: order &- other.order) < 0 : deadline < other.deadline
        }
    }

    private var heap: ContiguousArray<Entry> = []
    /// The heap index of each slot; negative for a slot without a deadline.
    private var places: ContiguousArray<Int32> = []
    private var setCount: UInt32 = 0

    @usableFromInline
    init() {}

    @usableFromInline
    var isEmpty: Bool { heap.isEmpty }

    /// Numbers with a deadline.
    var count: Int { heap.count }

    /// The earliest deadline; nil if there is none.
    @usableFromInline
    var earliest: Instant? { heap.first?.deadline }

    /// Returns the deadline of a slot; nil if it has none.
    @usableFromInline
    func deadline(of slot: Int) -> Instant? {
        guard slot < places.count, places[slot] >= 0 else { return nil }
        return heap[Int(places[slot])].deadline
    }

    /// Sets or replaces the deadline of a slot; nil removes it. An equal deadline changes nothing.
    @usableFromInline
    mutating func set(_ slot: Int, at deadline: Instant?) {
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

    /// Removes the deadline of a slot, if it has one.
    @usableFromInline
    mutating func cancel(_ slot: Int) {
        guard slot < places.count, places[slot] >= 0 else { return }
        let place = Int(places[slot])
        places[slot] = -1
        let last = heap.removeLast()
        if place < heap.count { settle(last, at: place) }
    }

    /// Removes and returns the slot with the earliest deadline if this is at or before `now`; otherwise nil. The caller
    /// repeats the call until the result is nil.
    @usableFromInline
    mutating func popExpired(now: Instant) -> Int? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        cancel(Int(first.slot))
        return Int(first.slot)
    }

    /// Moves an entry to its index in the heap. The entry at the index `start` may be overwritten.
    private mutating func settle(_ entry: Entry, at start: Int) {
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

    private mutating func put(_ entry: Entry, at place: Int) {
        heap[place] = entry
        places[Int(entry.slot)] = Int32(place)
    }
}
