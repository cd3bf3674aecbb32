/// The memory of a queue: slots whose number is a power of two, of which those from the head on contain elements.
///
/// This is the only type of the queues that accesses memory by address. The callers use positions below `count` and
/// append only if there is a free slot; ``Deque`` verifies both. The variables are in the header of the buffer and are
/// accessed by address, because the runtime verifies the exclusivity of each access to a property of a class.
@usableFromInline
@safe
final class Ring<Element>: ManagedBuffer<RingHeader, Element> {
    /// Creates an empty ring. `slotCount` is a power of two.
    @inlinable
    static func make(slotCount: Int) -> Ring {
        let ring = create(minimumCapacity: slotCount) { _ in RingHeader(slotCount: slotCount) }
        return unsafe unsafeDowncast(ring, to: Ring.self)
    }

    deinit {
        removeFirst(count)
    }

    @inlinable @inline(__always)
    var variables: RingHeader {
        unsafeAddress { unsafe UnsafePointer(withUnsafeMutablePointerToHeader { unsafe $0 }) }
        unsafeMutableAddress { unsafe withUnsafeMutablePointerToHeader { unsafe $0 } }
    }

    @inlinable @inline(__always)
    var count: Int { variables.count }

    @inlinable @inline(__always)
    var slotCount: Int { variables.mask &+ 1 }

    @inlinable @inline(__always)
    func address(_ position: Int) -> UnsafeMutablePointer<Element> {
        unsafe withUnsafeMutablePointers { header, slots in unsafe slots + header.pointee.slot(position) }
    }

    /// Accesses the element at a position below `count` in place.
    @inlinable @inline(__always)
    subscript(position: Int) -> Element {
        unsafeAddress {
            precondition(position >= 0 && position < count, "position outside the queue")
            return unsafe UnsafePointer(address(position))
        }
        unsafeMutableAddress {
            precondition(position >= 0 && position < count, "position outside the queue")
            return unsafe address(position)
        }
    }

    @inlinable @inline(__always)
    func append(_ element: consuming Element) {
        unsafe address(count).initialize(to: element)
        variables.count &+= 1
    }

    @inlinable @inline(__always)
    func takeFirst() -> Element {
        defer { variables.drop(1) }
        return unsafe address(0).move()
    }

    @inlinable @inline(__always)
    func takeLast() -> Element {
        variables.count &-= 1
        return unsafe address(count).move()
    }

    @inlinable
    func removeFirst(_ dropCount: Int) {
        for position in 0..<dropCount { unsafe address(position).deinitialize(count: 1) }
        variables.drop(dropCount)
    }

    /// Returns a ring with copies of the elements.
    @inlinable
    func copy() -> Ring {
        let result = Ring.make(slotCount: slotCount)
        for position in 0..<count { result.append(self[position]) }
        return result
    }

    /// Returns a larger ring to which the elements were moved. This ring is empty thereafter.
    @inlinable
    func moved(slotCount larger: Int) -> Ring {
        let result = Ring.make(slotCount: larger)
        while count > 0 { result.append(takeFirst()) }
        return result
    }
}

/// The range of slots that contain elements.
@usableFromInline
struct RingHeader {
    @usableFromInline let mask: Int
    @usableFromInline var head = 0
    @usableFromInline var count = 0

    @inlinable
    init(slotCount: Int) {
        mask = slotCount - 1
    }

    @inlinable @inline(__always)
    func slot(_ position: Int) -> Int { (head &+ position) & mask }

    /// Resets the head of an empty ring to the first slot, which is probably in the cache.
    @inlinable @inline(__always)
    mutating func drop(_ dropCount: Int) {
        count &-= dropCount
        head = count == 0 ? 0 : slot(dropCount)
    }
}
