/// Deadlines by key, at most one for each, the earliest always at hand.
///
/// A binary heap whose entries know their place, so that setting, moving and cancelling are O(log n) and nothing
/// cancelled stays behind: the queue is bounded by the number of keys. Equal deadlines expire in the order in which they
/// were set, so the same events always give the same order, and a key that is set again at once waits its turn.
public struct TimerQueue<Key: Hashable & Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline var deadline: Instant
        @usableFromInline var order: UInt64
        @usableFromInline var key: Key

        @inlinable
        init(deadline: Instant, order: UInt64, key: Key) {
            self.deadline = deadline
            self.order = order
            self.key = key
        }

        @inlinable
        func precedes(_ other: Entry) -> Bool {
            (deadline, order) < (other.deadline, other.order)
        }
    }

    @usableFromInline
    var heap: ContiguousArray<Entry> = []
    @usableFromInline
    var places: [Key: Int] = [:]
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
        places[key].map { heap[$0].deadline }
    }

    /// Gives `key` this deadline in place of any that it had; `nil` cancels. Setting what is set already changes nothing.
    @inlinable
    public mutating func set(_ key: Key, at deadline: Instant?) {
        guard let deadline else { return cancel(key) }
        guard let place = places[key] else {
            heap.append(Entry(deadline: deadline, order: nextOrder(), key: key))
            places[key] = heap.count - 1
            return siftUp(from: heap.count - 1)
        }
        guard heap[place].deadline != deadline else { return }
        heap[place].deadline = deadline
        heap[place].order = nextOrder()
        settle(place)
    }

    /// Takes the deadline of `key` away, if it has one.
    @inlinable
    public mutating func cancel(_ key: Key) {
        guard let place = places.removeValue(forKey: key) else { return }
        let last = heap.removeLast()
        guard place < heap.count else { return }
        heap[place] = last
        places[last.key] = place
        settle(place)
    }

    /// Takes the key whose deadline is the earliest, if that is at or before `now`.
    ///
    /// Call until it answers `nil`.
    @inlinable
    public mutating func popExpired(now: Instant) -> Key? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        cancel(first.key)
        return first.key
    }

    /// Takes every deadline away.
    @inlinable
    public mutating func removeAll() {
        heap.removeAll()
        places.removeAll()
    }

    @inlinable
    mutating func nextOrder() -> UInt64 {
        setCount += 1
        return setCount
    }

    @inlinable
    mutating func settle(_ place: Int) {
        if place > 0, heap[place].precedes(heap[(place - 1) / 2]) {
            siftUp(from: place)
        } else {
            siftDown(from: place)
        }
    }

    @inlinable
    mutating func siftUp(from start: Int) {
        var place = start
        while place > 0, heap[place].precedes(heap[(place - 1) / 2]) {
            exchange(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    @inlinable
    mutating func siftDown(from start: Int) {
        var place = start
        while true {
            var least = place
            for child in 2 * place + 1...2 * place + 2 where child < heap.count && heap[child].precedes(heap[least]) {
                least = child
            }
            guard least != place else { return }
            exchange(place, least)
            place = least
        }
    }

    @inlinable
    mutating func exchange(_ one: Int, _ other: Int) {
        heap.swapAt(one, other)
        places[heap[one].key] = one
        places[heap[other].key] = other
    }
}
