/// A queue to which elements are appended, and from which they are removed at both ends: a ring of slots whose number
/// is a power of two.
///
/// Positions count from the front: 0 is the first element, `count - 1` the last, whatever was taken before. Appending
/// (amortised), removing and access by position are O(1). A ring that has grown beyond ``retainedSlotCount`` gives
/// its memory back when it runs empty, so a burst does not cost an idle link anything afterwards.
public struct Deque<Element> {
    /// Nil while the queue holds no memory; shared by copies until one of them is changed.
    @usableFromInline
    var ring: Ring<Element>?

    /// Slots that an empty ring keeps; a larger ring is released when its last element leaves.
    @inlinable
    public static var retainedSlotCount: Int { 256 }

    /// Slots that the first element makes room for: fewer where elements are large.
    @inlinable
    static var firstSlotCount: Int { MemoryLayout<Element>.stride > 32 ? 2 : 8 }

    /// An empty queue, which holds no memory.
    @inlinable
    public init() {}

    /// A queue of `elements`, in their order.
    @inlinable
    public init(_ elements: some Sequence<Element>) {
        for element in elements { append(element) }
    }

    /// Slots that the ring holds memory for: 0 or a power of two.
    @inlinable
    public var slotCount: Int { ring?.slotCount ?? 0 }

    /// Adds `element` behind the last.
    @inlinable
    public mutating func append(_ element: consuming Element) {
        ringWithRoom().append(element)
    }

    /// Adds so many elements behind the last, each made from its number among them.
    @inlinable @inline(__always)
    mutating func append(count added: Int, _ element: (Int) -> Element) {
        guard added > 0 else { return }
        let ring = ringWithRoom(for: added)
        for number in 0..<added { ring.append(element(number)) }
    }

    /// Takes the first element, or nothing when the queue is empty.
    @inlinable
    public mutating func popFirst() -> Element? {
        guard let ring = ownRing(), ring.count > 0 else { return nil }
        let element = ring.takeFirst()
        if ring.count == 0 { releaseIfLarge() }
        return element
    }

    /// Takes the last element, or nothing when the queue is empty.
    @inlinable
    public mutating func popLast() -> Element? {
        guard let ring = ownRing(), ring.count > 0 else { return nil }
        let element = ring.takeLast()
        if ring.count == 0 { releaseIfLarge() }
        return element
    }

    /// Drops the first `dropCount` elements, which must be there.
    @inlinable
    public mutating func removeFirst(_ dropCount: Int) {
        precondition(dropCount >= 0 && dropCount <= count, "removing more elements than there are")
        guard dropCount > 0, let ring = ownRing() else { return }
        ring.removeFirst(dropCount)
        if ring.count == 0 { releaseIfLarge() }
    }

    /// Drops every element and the memory.
    @inlinable
    public mutating func removeAll() {
        ring = nil
    }

    /// Gives the memory back if the queue is empty.
    @inlinable
    public mutating func releaseIfEmpty() {
        if let ring, ring.count == 0 { self.ring = nil }
    }

    /// The ring, of which no other queue knows.
    @inlinable
    mutating func ownRing() -> Ring<Element>? {
        if !isKnownUniquelyReferenced(&ring), let shared = ring { ring = shared.copy() }
        return ring
    }

    /// The ring, of which no other queue knows, with free slots.
    @inlinable
    mutating func ringWithRoom(for added: Int = 1) -> Ring<Element> {
        if let own = ownRing(), own.slotCount - own.count >= added { return own }
        return grow(by: added)
    }

    /// A larger ring, to which the elements move: no other queue may know of the one there is.
    @inlinable @inline(never)
    mutating func grow(by added: Int) -> Ring<Element> {
        var slots = Swift.max(2 * slotCount, Self.firstSlotCount)
        while slots - count < added { slots *= 2 }
        let grown = ring?.moved(slotCount: slots) ?? Ring.make(slotCount: slots)
        ring = grown
        return grown
    }

    @inlinable
    mutating func releaseIfLarge() {
        if slotCount > Self.retainedSlotCount { ring = nil }
    }
}

extension Deque: RandomAccessCollection, MutableCollection {
    /// Always 0.
    @inlinable
    public var startIndex: Int { 0 }

    /// One behind the last position: `count`.
    @inlinable
    public var endIndex: Int { ring?.count ?? 0 }

    /// The element `position` places behind the first; it can be changed in place.
    @inlinable
    public subscript(position: Int) -> Element {
        unsafeAddress {
            guard let ring, position >= 0, position < ring.count else {
                preconditionFailure("position outside the queue")
            }
            return unsafe UnsafePointer(ring.address(position))
        }
        unsafeMutableAddress {
            guard let ring = ownRing(), position >= 0, position < ring.count else {
                preconditionFailure("position outside the queue")
            }
            return unsafe ring.address(position)
        }
    }
}

extension Deque: ExpressibleByArrayLiteral {
    /// A queue of `elements`, in their order.
    @inlinable
    public init(arrayLiteral elements: Element...) {
        self.init(elements)
    }
}

extension Deque: Equatable where Element: Equatable {
    /// Whether both hold equal elements in the same order; where the rings start makes no difference.
    @inlinable
    public static func == (left: Deque, right: Deque) -> Bool {
        guard left.count == right.count else { return false }
        for position in left.indices where left[position] != right[position] { return false }
        return true
    }
}

extension Deque: Hashable where Element: Hashable {
    /// Feeds the number of elements and the elements in their order.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for element in self { hasher.combine(element) }
    }
}

// A ring is shared by copies only as long as none of them changes it.
extension Deque: @unchecked Sendable where Element: Sendable {}
