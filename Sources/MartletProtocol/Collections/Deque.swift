/// A queue that is open at both ends: a ring of slots whose number is a power of two.
///
/// Positions count from the front: 0 is the first element, `count - 1` the last, whatever was taken before. Both ends
/// are O(1) (appending amortised), as is access by position. A ring that has grown beyond ``retainedSlotCount`` gives
/// its memory back when it runs empty, so a burst does not cost an idle link anything afterwards.
public struct Deque<Element> {
    @usableFromInline
    var slots: ContiguousArray<Element?> = []
    @usableFromInline
    var head = 0
    @usableFromInline
    var elementCount = 0

    /// Slots that an empty ring keeps; a larger ring is released when its last element leaves.
    @inlinable
    public static var retainedSlotCount: Int { 64 }

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
    public var slotCount: Int { slots.count }

    /// Adds `element` behind the last.
    @inlinable
    public mutating func append(_ element: Element) {
        growIfFull()
        slots[slot(of: elementCount)] = element
        elementCount += 1
    }

    /// Adds `element` before the first, as position 0.
    @inlinable
    public mutating func prepend(_ element: Element) {
        growIfFull()
        head = (head &- 1) & (slots.count &- 1)
        slots[head] = element
        elementCount += 1
    }

    /// Takes the first element, or nothing when the queue is empty.
    @inlinable
    public mutating func popFirst() -> Element? {
        guard elementCount > 0 else { return nil }
        let element = slots[head].take()
        head = slot(of: 1)
        elementCount -= 1
        releaseIfEmpty()
        return element
    }

    /// Takes the last element, or nothing when the queue is empty.
    @inlinable
    public mutating func popLast() -> Element? {
        guard elementCount > 0 else { return nil }
        elementCount -= 1
        let element = slots[slot(of: elementCount)].take()
        releaseIfEmpty()
        return element
    }

    /// Drops the first `dropCount` elements, which must be there.
    @inlinable
    public mutating func removeFirst(_ dropCount: Int) {
        precondition(dropCount >= 0 && dropCount <= elementCount, "removing more elements than there are")
        for position in 0..<dropCount { slots[slot(of: position)] = nil }
        if dropCount > 0 { head = slot(of: dropCount) }
        elementCount -= dropCount
        releaseIfEmpty()
    }

    /// Drops every element and the memory.
    @inlinable
    public mutating func removeAll() {
        self = Deque()
    }

    @inlinable
    func slot(of position: Int) -> Int {
        (head &+ position) & (slots.count &- 1)
    }

    @inlinable
    func slot(holding position: Int) -> Int {
        precondition(position >= 0 && position < elementCount, "position outside the queue")
        return slot(of: position)
    }

    @inlinable
    mutating func growIfFull() {
        guard elementCount == slots.count else { return }
        var grown = ContiguousArray<Element?>(repeating: nil, count: Swift.max(8, slots.count * 2))
        for position in 0..<elementCount { grown[position] = slots[slot(of: position)].take() }
        slots = grown
        head = 0
    }

    @inlinable
    mutating func releaseIfEmpty() {
        guard elementCount == 0 else { return }
        head = 0
        if slots.count > Self.retainedSlotCount { slots = [] }
    }
}

extension Deque: RandomAccessCollection, MutableCollection {
    /// Always 0.
    @inlinable
    public var startIndex: Int { 0 }

    /// One behind the last position: `count`.
    @inlinable
    public var endIndex: Int { elementCount }

    /// The element `position` places behind the first; it can be changed in place.
    @inlinable
    public subscript(position: Int) -> Element {
        get {
            slots[slot(holding: position)]!
        }
        _modify {
            yield &slots[slot(holding: position)]!
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
        left.elementsEqual(right)
    }
}

extension Deque: Hashable where Element: Hashable {
    /// Feeds the number of elements and the elements in their order.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(elementCount)
        for element in self { hasher.combine(element) }
    }
}

extension Deque: Sendable where Element: Sendable {}
