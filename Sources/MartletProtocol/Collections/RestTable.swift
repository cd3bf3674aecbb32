/// What a `RestTable` may pack while nothing happens to it.
protocol Packable {
    /// Whether it may be packed now; false, too, when something has happened since it was asked last.
    mutating func mayRest() -> Bool
    /// What a ledger was told that it takes, in bytes; packed it takes other memory in place of that.
    var chargedByteCount: Int { get }
    /// Passes every part that a packed value is to keep.
    mutating func pass(_ packer: inout Packer)
    init(unpacking packer: inout Packer)
}

/// Elements by number, of which those that nothing happens to are kept packed: a number that was freed is given out
/// again, the one that was freed last first.
///
/// An element is read and changed where it lies, in memory of its own. `sweep()` packs every element that may rest into
/// a few bytes; to look at one unpacks it, wherever that is done, so nobody has to know. Only who goes through many,
/// and wants to leave them as they are, takes a copy with `find`.
@safe
struct RestTable<Element: Packable>: ~Copyable {
    /// For each number 0, or the address of its element, or with the lowest bit set of its bytes. A number that was
    /// freed and is still among `wakeful` is `freedWakeful`.
    private var places: ContiguousArray<UInt> = []
    private var freeSlots: [Int32] = []
    /// Elements that are not packed, and what is left of some.
    private var wakeful: ContiguousArray<Wakeful> = []
    /// How many elements are not packed.
    private(set) var wakefulCount = 0
    /// What ledgers were told that the packed elements take, and what they do take, in bytes.
    private(set) var packedChargeByteCount = 0
    private(set) var packedByteCount = 0
    private var packer = Packer()
    private var bytes: [UInt8] = []
    /// Memory of elements that were packed, for the next that are not.
    private var spares: ContiguousArray<UnsafeMutablePointer<Element>> = unsafe []

    /// How many elements' memory is kept for others.
    private static var maxSpareCount: Int { 32 }

    /// An element that is not packed. It keeps the bytes that it was packed in and goes back there: a look now and then
    /// leaves no holes in the memory of all that rest.
    private struct Wakeful {
        let slot: Int32
        var bytes = PackedBytes()
    }

    private static var isPacked: UInt { 1 }
    private static var freedWakeful: UInt { 2 }

    init() {}

    deinit {
        for index in wakeful.indices { wakeful[index].bytes.deallocate() }
        for index in unsafe spares.indices { unsafe spares[index].deallocate() }
        for slot in places.indices where isLive(slot) {
            if places[slot] & Self.isPacked == 0 {
                unsafe Self.element(places[slot]).deinitialize(count: 1).deallocate()
            } else {
                Self.packed(places[slot]).deallocate()
            }
        }
    }

    /// Elements in the table.
    var count: Int { places.count - freeSlots.count }
    /// The numbers that were ever given out; each is live or free.
    var slots: Range<Int> { 0..<places.count }
    /// The number that `insert` will give out.
    var nextSlot: Int { freeSlots.last.map { Int($0) } ?? places.count }

    func isLive(_ slot: Int) -> Bool {
        slot >= 0 && slot < places.count && places[slot] > Self.freedWakeful
    }

    /// The element of a number that is live; it can be changed in place, and is packed no longer.
    subscript(slot: Int) -> Element {
        @inline(__always)
        mutating unsafeAddress {
            unsafe UnsafePointer(address(slot))
        }
        @inline(__always)
        unsafeMutableAddress {
            unsafe address(slot)
        }
    }

    /// A copy of the element, if the number is live.
    func find(_ slot: Int) -> Element? {
        guard isLive(slot) else { return nil }
        guard places[slot] & Self.isPacked != 0 else { return unsafe Self.element(places[slot]).pointee }
        var packer = Packer()
        return Self.unpacked(Self.packed(places[slot]), with: &packer)
    }

    /// Adds an element and returns its number.
    @discardableResult
    mutating func insert(_ element: consuming Element) -> Int {
        let slot = nextSlot
        if slot == places.count { places.append(0) } else { freeSlots.removeLast() }
        put(element, slot)
        return slot
    }

    /// Takes an element out, whose number is live, and frees the number.
    mutating func remove(_ slot: Int) {
        precondition(isLive(slot), "a number without an element")
        if places[slot] & Self.isPacked == 0 {
            unsafe give(back: Self.element(places[slot]))
            places[slot] = Self.freedWakeful
            wakefulCount -= 1
        } else {
            let packed = Self.packed(places[slot])
            packedByteCount -= packed.takenByteCount
            packedChargeByteCount -= Self.unpacked(packed, with: &packer).chargedByteCount
            packed.deallocate()
            places[slot] = 0
        }
        freeSlots.append(Int32(slot))
    }

    /// Packs the elements that may rest; returns how many they were.
    mutating func sweep() -> Int {
        let before = wakefulCount
        var kept = 0
        for index in wakeful.indices {
            let slot = Int(wakeful[index].slot)
            guard places[slot] != Self.freedWakeful else {
                wakeful[index].bytes.deallocate()
                places[slot] = 0
                continue
            }
            if unsafe Self.element(places[slot]).pointee.mayRest(), pack(slot, into: wakeful[index].bytes) { continue }
            wakeful[kept] = wakeful[index]
            kept += 1
        }
        wakeful.removeSubrange(kept...)
        // After a burst the list's memory is given back.
        if wakeful.capacity > 64, kept < wakeful.capacity / 4 { wakeful = ContiguousArray(wakeful[...]) }
        return before - wakefulCount
    }

    /// Looks at every element that is not packed, in place.
    mutating func forEachWakeful(_ body: (inout Element) -> Void) {
        for index in wakeful.indices {
            let place = places[Int(wakeful[index].slot)]
            guard place & Self.isPacked == 0, place > Self.freedWakeful else { continue }
            unsafe body(&Self.element(place).pointee)
        }
    }

    /// Whether a number's element is packed; nothing changes.
    func isPacked(_ slot: Int) -> Bool {
        isLive(slot) && places[slot] & Self.isPacked != 0
    }

    /// Bytes that a packed element takes, beside what the allocator adds.
    func packedByteCount(_ slot: Int) -> Int? {
        guard isPacked(slot) else { return nil }
        return Self.packed(places[slot]).byteCount
    }

    // MARK: Memory

    @inline(__always)
    private mutating func address(_ slot: Int) -> UnsafeMutablePointer<Element> {
        let place = places[slot]
        guard place & Self.isPacked == 0, place > Self.freedWakeful else { return unsafe wake(slot) }
        return unsafe Self.element(place)
    }

    @inline(never)
    private mutating func wake(_ slot: Int) -> UnsafeMutablePointer<Element> {
        precondition(isLive(slot), "a number without an element")
        let packed = Self.packed(places[slot])
        put(Self.unpacked(packed, with: &packer), slot, packed)
        let element = unsafe Self.element(places[slot])
        packedByteCount -= packed.takenByteCount
        unsafe packedChargeByteCount -= element.pointee.chargedByteCount
        return unsafe element
    }

    private mutating func put(_ element: consuming Element, _ slot: Int, _ bytes: PackedBytes = PackedBytes()) {
        let pointer = unsafe spares.popLast() ?? UnsafeMutablePointer<Element>.allocate(capacity: 1)
        unsafe pointer.initialize(to: element)
        if places[slot] != Self.freedWakeful { wakeful.append(Wakeful(slot: Int32(slot), bytes: bytes)) }
        places[slot] = UInt(bitPattern: pointer)
        wakefulCount += 1
    }

    private mutating func give(back element: UnsafeMutablePointer<Element>) {
        unsafe element.deinitialize(count: 1)
        guard unsafe spares.count < Self.maxSpareCount else { return unsafe element.deallocate() }
        unsafe spares.append(element)
    }

    private static func unpacked(_ packed: PackedBytes, with packer: inout Packer) -> Element {
        packed.read { packer.beginUnpacking($0) }
        return Element(unpacking: &packer)
    }

    /// False when it takes more bytes than are allowed for.
    private mutating func pack(_ slot: Int, into former: PackedBytes) -> Bool {
        let element = unsafe Self.element(places[slot])
        packer.beginPacking()
        unsafe element.pointee.pass(&packer)
        packer.finishPacking(into: &bytes)
        guard bytes.count <= Packer.maxByteCount else { return false }
        let packed = former.replaced(by: bytes)
        packedByteCount += packed.takenByteCount
        unsafe packedChargeByteCount += element.pointee.chargedByteCount
        unsafe give(back: element)
        places[slot] = packed.address | Self.isPacked
        wakefulCount -= 1
        return true
    }

    private static func element(_ place: UInt) -> UnsafeMutablePointer<Element> {
        guard let pointer = unsafe UnsafeMutablePointer<Element>(bitPattern: place) else {
            preconditionFailure("a number without an element")
        }
        return unsafe pointer
    }

    private static func packed(_ place: UInt) -> PackedBytes {
        PackedBytes(address: place & ~isPacked)
    }
}

// Nobody else has the addresses that it keeps.
extension RestTable: @unchecked Sendable where Element: Sendable {}
