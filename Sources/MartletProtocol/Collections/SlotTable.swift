/// Elements by number: a number that was freed is given out again, the one that was freed last first.
///
/// An element is read and changed where it lies. An array of optionals would do the same work, but to look at one field
/// through an optional copies the whole element, with every reference that it holds.
struct SlotTable<Element> {
    private var memory: SlotMemory<Element>?
    private var freeSlots: [Int] = []
    private var slotCount = 0

    /// Elements in the table.
    var count: Int { slotCount - freeSlots.count }
    /// The numbers that were ever given out; each is live or free.
    var slots: Range<Int> { 0..<slotCount }
    /// The number that `insert` will give out.
    var nextSlot: Int { freeSlots.last ?? slotCount }

    func isLive(_ slot: Int) -> Bool {
        guard slot >= 0, slot < slotCount, let memory else { return false }
        return memory.isLive(slot)
    }

    /// The element of a number that is live; it can be changed in place.
    subscript(slot: Int) -> Element {
        unsafeAddress {
            guard let memory, slot >= 0, slot < slotCount, memory.isLive(slot) else {
                preconditionFailure("a number without an element")
            }
            return unsafe UnsafePointer(memory.address(slot))
        }
        unsafeMutableAddress {
            own()
            guard let memory, slot >= 0, slot < slotCount, memory.isLive(slot) else {
                preconditionFailure("a number without an element")
            }
            return unsafe memory.address(slot)
        }
    }

    /// A copy of the element, if the number is live.
    func find(_ slot: Int) -> Element? {
        isLive(slot) ? self[slot] : nil
    }

    /// Adds an element and returns its number.
    @discardableResult
    mutating func insert(_ element: consuming Element) -> Int {
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

    /// Takes an element out, whose number is live, and frees the number.
    mutating func remove(_ slot: Int) {
        precondition(isLive(slot), "a number without an element")
        own()
        freeSlots.append(slot)
        memory?.remove(slot)
    }

    private mutating func own() {
        if !isKnownUniquelyReferenced(&memory) { memory = memory?.copy() }
    }
}

// Memory is shared by copies only as long as none of them changes it.
extension SlotTable: @unchecked Sendable where Element: Sendable {}

/// A table's memory, of which some slots hold an element; who calls knows which.
@safe
private final class SlotMemory<Element>: ManagedBuffer<ContiguousArray<Bool>, Element> {
    /// Twice the slots of another, or the first few, with the elements of the other moved over.
    static func make(taking other: SlotMemory?) -> SlotMemory {
        let old = other?.slotCount ?? 0
        let result = make(slotCount: max(1, 2 * old))
        for slot in 0..<old where other?.isLive(slot) == true {
            if let element = other?.take(slot) { result.put(element, slot) }
        }
        return result
    }

    private static func make(slotCount: Int) -> SlotMemory {
        let memory = create(minimumCapacity: slotCount) { _ in ContiguousArray(repeating: false, count: slotCount) }
        return unsafe unsafeDowncast(memory, to: SlotMemory.self)
    }

    deinit {
        for slot in 0..<slotCount where isLive(slot) { remove(slot) }
    }

    var slotCount: Int { header.count }

    func isLive(_ slot: Int) -> Bool { header[slot] }

    func address(_ slot: Int) -> UnsafeMutablePointer<Element> {
        unsafe withUnsafeMutablePointerToElements { unsafe $0 + slot }
    }

    func put(_ element: consuming Element, _ slot: Int) {
        unsafe address(slot).initialize(to: element)
        header[slot] = true
    }

    func take(_ slot: Int) -> Element {
        header[slot] = false
        return unsafe address(slot).move()
    }

    func remove(_ slot: Int) {
        _ = take(slot)
    }

    func copy() -> SlotMemory {
        let result = SlotMemory.make(slotCount: slotCount)
        for slot in 0..<slotCount where isLive(slot) { result.put(unsafe address(slot).pointee, slot) }
        return result
    }
}
