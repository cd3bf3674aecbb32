/// A double-ended queue: a ring of slots whose number is a power of two.
///
/// Positions count from the front: 0 is the first element and `count - 1` the last one. Access by position, and adding
/// and removing at both ends, are O(1), amortized for adding. A ring that has grown beyond ``retainedSlotCount``
/// releases its memory when it becomes empty, so an idle link does not keep the memory of a burst.
@usableFromInline
package struct Deque<Element> {
    /// The ring; nil while the queue has no memory. Copies share it until one of them changes.
    @usableFromInline
    var ring: Ring<Element>?

    /// The maximum number of slots that an empty queue keeps.
    @inlinable
    package static var retainedSlotCount: Int { 256 }

    /// The number of entries of a queue with at most `valid` valid ones beyond which the outdated ones are removed.
    package static func maxCount(valid: Int) -> Int { 2 * valid + 16 }

    /// The number of slots that the first element allocates, lower for large elements.
    @inlinable
    static var firstSlotCount: Int { MemoryLayout<Element>.stride > 32 ? 2 : 8 }

    /// Creates an empty queue without memory.
    @inlinable
    package init() {}

    /// Creates a queue with elements in order.
    @inlinable
    package init(_ elements: some Sequence<Element>) {
        for element in elements { append(element) }
    }

    /// The number of allocated slots, 0 or a power of two.
    @inlinable @inline(__always)
    package var slotCount: Int { ring?.slotCount ?? 0 }

    /// Adds an element after the last one.
    @inlinable
    package mutating func append(_ element: consuming Element) {
        reserve(1)
        ring?.append(element)
    }

    /// Adds elements after the last one. A closure creates each from its index among them.
    @inlinable @inline(__always)
    mutating func append(count added: Int, _ element: (Int) -> Element) {
        guard added > 0 else { return }
        reserve(added)
        for number in 0..<added { ring?.append(element(number)) }
    }

    /// Removes and returns the first element; nil if the queue is empty.
    @inlinable @inline(__always)
    package mutating func popFirst() -> Element? { isEmpty ? nil : takeFirst() }

    @inlinable
    mutating func takeFirst() -> Element? {
        own()
        let element = ring?.takeFirst()
        if count == 0 { releaseIfLarge() }
        return element
    }

    /// Removes and returns the last element; nil if the queue is empty.
    @inlinable
    package mutating func popLast() -> Element? {
        guard !isEmpty else { return nil }
        own()
        let element = ring?.takeLast()
        if count == 0 { releaseIfLarge() }
        return element
    }

    /// Removes the first `dropCount` elements.
    ///
    /// - Precondition: The queue contains at least `dropCount` elements.
    @inlinable
    package mutating func removeFirst(_ dropCount: Int) {
        precondition(dropCount >= 0 && dropCount <= count, "removing more elements than there are")
        guard dropCount > 0 else { return }
        own()
        ring?.removeFirst(dropCount)
        if count == 0 { releaseIfLarge() }
    }

    /// Removes all elements and releases the memory.
    @inlinable
    package mutating func removeAll() {
        ring = nil
    }

    /// Releases the memory if the queue is empty.
    @inlinable
    package mutating func releaseIfEmpty() {
        if let ring, ring.count == 0 { self.ring = nil }
    }

    /// Ensures that no other queue shares the ring.
    @inlinable @inline(__always)
    mutating func own() {
        if !isKnownUniquelyReferenced(&ring) { ring = ring?.copy() }
    }

    /// The ring, which no other queue shares.
    @inlinable
    var ownedRing: Ring<Element>? {
        mutating get {
            own()
            return ring
        }
    }

    /// Ensures that the ring has free slots and no other queue shares it.
    @inlinable @inline(__always)
    mutating func reserve(_ added: Int) {
        own()
        if slotCount - count < added { grow(by: added) }
    }

    /// Moves the elements to a larger ring. No other queue may share the old ring.
    @inlinable @inline(never)
    mutating func grow(by added: Int) {
        var slots = Swift.max(2 * slotCount, Self.firstSlotCount)
        while slots - count < added { slots *= 2 }
        ring = ring?.moved(slotCount: slots) ?? Ring.make(slotCount: slots)
    }

    @inlinable
    mutating func releaseIfLarge() {
        if slotCount > Self.retainedSlotCount { ring = nil }
    }
}

extension Deque: RandomAccessCollection, MutableCollection {
    /// The position of the first element, always 0.
    @inlinable
    package var startIndex: Int { 0 }

    @inlinable @inline(__always)
    package var isEmpty: Bool { endIndex == 0 }

    @inlinable @inline(__always)
    package var count: Int { endIndex }

    /// The position after the last element, equal to `count`.
    @inlinable @inline(__always)
    package var endIndex: Int { ring?.count ?? 0 }

    /// Accesses the element at a position in place.
    @inlinable
    package subscript(position: Int) -> Element {
        unsafeAddress {
            guard let ring, position >= 0, position < ring.count else {
                preconditionFailure("position outside the queue")
            }
            return unsafe UnsafePointer(ring.address(position))
        }
        unsafeMutableAddress {
            own()
            guard let ring, position >= 0, position < ring.count else {
                preconditionFailure("position outside the queue")
            }
            return unsafe ring.address(position)
        }
    }
}

extension Deque: ExpressibleByArrayLiteral {
    /// Creates a queue with elements in order.
    @inlinable
    package init(arrayLiteral elements: Element...) {
        self.init(elements)
    }
}

extension Deque: Equatable where Element: Equatable {
    /// Returns whether both queues contain equal elements in the same order.
    @inlinable
    package static func == (left: Deque, right: Deque) -> Bool {
        guard left.count == right.count else { return false }
        for position in left.indices where left[position] != right[position] { return false }
        return true
    }
}

extension Deque: Hashable where Element: Hashable {
    /// Hashes the number of elements and the elements in order.
    @inlinable
    package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for element in self { hasher.combine(element) }
    }
}

// Copies share a ring only while none of them changes it.
extension Deque: @unchecked Sendable where Element: Sendable {}
