/// A table of elements in slots. The most recently freed slot is reused first.
///
/// Elements are accessed in place and are never copied.
@usableFromInline
@safe
package struct SlotTable<Element: ~Copyable>: ~Copyable {
    /// The memory of the slots. `isUsed` states which of them contain elements.
    @usableFromInline var elements: UnsafeMutablePointer<Element>?
    @usableFromInline var isUsed: ContiguousArray<Bool> = []
    @usableFromInline var freeSlots: [Int] = []
    @usableFromInline var slotCount = 0
    @usableFromInline let inPlace: InPlace

    /// Creates an empty table.
    @inlinable
    package init() {
        unsafe elements = nil
        inPlace = InPlace()
    }

    @inlinable
    deinit {
        guard let elements = unsafe elements else { return }
        for slot in isUsed.indices where isUsed[slot] { unsafe (elements + slot).deinitialize(count: 1) }
        unsafe elements.deallocate()
    }

    /// The number of elements.
    @inlinable
    package var count: Int { slotCount - freeSlots.count }
    /// The slots that have ever been in use. Each contains an element or is free.
    @inlinable
    package var slots: Range<Int> { 0..<slotCount }
    /// Slots that have memory.
    @inlinable
    package var capacity: Int { isUsed.count }
    /// The slot of the next inserted element.
    @inlinable
    package var nextSlot: Int { freeSlots.last ?? slotCount }

    @inlinable @inline(__always)
    package func isLive(_ slot: Int) -> Bool { slot >= 0 && slot < isUsed.count && isUsed[slot] }

    /// Accesses the element in a slot in place.
    ///
    /// - Precondition: The slot contains an element.
    @inlinable
    package subscript(slot: Int) -> Element {
        @inline(__always) unsafeAddress { unsafe address(slot) }
        @inline(__always) unsafeMutableAddress { unsafe mutableAddress(slot) }
    }

    /// Returns the address of an element for the subscript of a table that wraps this one. It is valid during the
    /// access.
    @inlinable @inline(__always)
    package func address(_ slot: Int) -> UnsafePointer<Element> {
        guard isLive(slot), let elements = unsafe elements else { preconditionFailure("a slot without an element") }
        return unsafe UnsafePointer(elements + slot)
    }

    /// Returns the address of an element for a change in place.
    @inlinable @inline(__always)
    package mutating func mutableAddress(_ slot: Int) -> UnsafeMutablePointer<Element> {
        guard isLive(slot), let elements = unsafe elements else { preconditionFailure("a slot without an element") }
        return unsafe elements + slot
    }

    /// Adds an element and returns its slot.
    @discardableResult
    @inlinable
    package mutating func insert(_ element: consuming Element) -> Int {
        let slot = nextSlot
        if slot == slotCount {
            if slotCount == capacity { grow() }
            slotCount += 1
        } else {
            freeSlots.removeLast()
        }
        isUsed[slot] = true
        guard let elements = unsafe elements else { preconditionFailure("a table without memory") }
        unsafe (elements + slot).initialize(to: element)
        return slot
    }

    /// Removes the element in a slot and frees the slot.
    ///
    /// - Precondition: The slot contains an element.
    @discardableResult
    @inlinable
    package mutating func remove(_ slot: Int) -> Element {
        let element = unsafe mutableAddress(slot)
        isUsed[slot] = false
        freeSlots.append(slot)
        return unsafe element.move()
    }

    /// Moves the elements to memory with twice the slots.
    @inlinable @inline(never)
    mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: max(1, 2 * capacity))
        if let elements = unsafe elements {
            for slot in isUsed.indices where isUsed[slot] {
                unsafe (larger + slot).moveInitialize(from: elements + slot, count: 1)
            }
            unsafe elements.deallocate()
        }
        unsafe elements = larger
        isUsed.append(contentsOf: repeatElement(false, count: max(1, capacity)))
    }
}

extension SlotTable {
    /// Returns a copy of the element in a slot; nil if the slot is free.
    @inlinable
    package func find(_ slot: Int) -> Element? {
        isLive(slot) ? self[slot] : nil
    }
}

// The memory has one owner.
extension SlotTable: @unchecked Sendable where Element: Sendable & ~Copyable {}
