/// A table of elements in slots. The most recently freed slot is reused first.
///
/// Elements are accessed in place. With an array of optionals, access to one field would copy the whole element and all
/// its references.
@usableFromInline
package struct SlotTable<Element> {
    @usableFromInline var memory: SlotMemory<Element>?
    @usableFromInline var freeSlots: [Int] = []
    @usableFromInline var slotCount = 0

    /// Creates an empty table.
    @inlinable
    package init() {}

    /// The number of elements.
    @inlinable
    package var count: Int { slotCount - freeSlots.count }
    /// The slots that have ever been in use. Each contains an element or is free.
    @inlinable
    package var slots: Range<Int> { 0..<slotCount }
    /// Slots that have memory.
    @inlinable
    package var capacity: Int { memory?.slotCount ?? 0 }
    /// The slot of the next inserted element.
    @inlinable
    package var nextSlot: Int { freeSlots.last ?? slotCount }

    @inlinable
    package func isLive(_ slot: Int) -> Bool {
        guard slot >= 0, slot < slotCount, let memory else { return false }
        return memory.isLive(slot)
    }

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
        guard let memory, memory.isLive(slot) else { preconditionFailure("a slot without an element") }
        return unsafe UnsafePointer(memory.address(slot))
    }

    /// Returns the address of an element for a change in place.
    @inlinable @inline(__always)
    package mutating func mutableAddress(_ slot: Int) -> UnsafeMutablePointer<Element> {
        own()
        guard let memory, memory.isLive(slot) else { preconditionFailure("a slot without an element") }
        return unsafe memory.address(slot)
    }

    /// Returns a copy of the element in a slot; nil if the slot is free.
    @inlinable
    package func find(_ slot: Int) -> Element? {
        isLive(slot) ? self[slot] : nil
    }

    /// Adds an element and returns its slot.
    @discardableResult
    @inlinable
    package mutating func insert(_ element: consuming Element) -> Int {
        own()
        let slot = nextSlot
        if slot == slotCount {
            if slotCount == memory?.slotCount ?? 0 { memory = SlotMemory.make(taking: memory) }
            slotCount += 1
        } else {
            freeSlots.removeLast()
        }
        memory?.put(element, slot)
        return slot
    }

    /// Removes the element in a slot and frees the slot.
    ///
    /// - Precondition: The slot contains an element.
    @inlinable
    package mutating func remove(_ slot: Int) {
        precondition(isLive(slot), "a slot without an element")
        own()
        freeSlots.append(slot)
        memory?.remove(slot)
    }

    @inlinable
    mutating func own() {
        if !isKnownUniquelyReferenced(&memory) { memory = memory?.copy() }
    }
}

// Copies share memory only while none of them changes it.
extension SlotTable: @unchecked Sendable where Element: Sendable {}

/// The memory of a table. The caller knows which slots contain elements.
@safe
@usableFromInline
final class SlotMemory<Element>: ManagedBuffer<ContiguousArray<Bool>, Element> {
    /// Returns memory with twice the slots of another, to which its elements are moved, or with the initial number of
    /// slots.
    @inlinable
    static func make(taking other: SlotMemory?) -> SlotMemory {
        let old = other?.slotCount ?? 0
        let result = make(slotCount: max(1, 2 * old))
        for slot in 0..<old where other?.isLive(slot) == true {
            if let element = other?.take(slot) { result.put(element, slot) }
        }
        return result
    }

    @inlinable
    static func make(slotCount: Int) -> SlotMemory {
        let memory = create(minimumCapacity: slotCount) { _ in ContiguousArray(repeating: false, count: slotCount) }
        return unsafe unsafeDowncast(memory, to: SlotMemory.self)
    }

    deinit {
        for slot in 0..<slotCount where isLive(slot) { remove(slot) }
    }

    @inlinable
    var slotCount: Int { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.count } }

    /// Read by address: each access to `header` would cost a check of exclusivity, for each access to an element.
    @inlinable @inline(__always)
    func isLive(_ slot: Int) -> Bool { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee[slot] } }

    @inlinable @inline(__always)
    func address(_ slot: Int) -> UnsafeMutablePointer<Element> {
        unsafe withUnsafeMutablePointerToElements { unsafe $0 + slot }
    }

    @inlinable
    func put(_ element: consuming Element, _ slot: Int) {
        unsafe address(slot).initialize(to: element)
        header[slot] = true
    }

    @inlinable
    func take(_ slot: Int) -> Element {
        header[slot] = false
        return unsafe address(slot).move()
    }

    @inlinable
    func remove(_ slot: Int) {
        _ = take(slot)
    }

    @inlinable
    func copy() -> SlotMemory {
        let result = SlotMemory.make(slotCount: slotCount)
        for slot in 0..<slotCount where isLive(slot) { result.put(unsafe address(slot).pointee, slot) }
        return result
    }
}
