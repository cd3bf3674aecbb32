import Testing

@testable import MartletProtocol

/// A number that rests when it was told to.
private struct Sleeper: Packable {
    final class Token {}

    var number: UInt64
    var isTired = false
    var chargedByteCount: Int { 1000 }
    var token: Token?

    mutating func mayRest() -> Bool { isTired }

    mutating func pass(_ packer: inout Packer) {
        packer.pass(&number)
    }
}

extension Sleeper {
    init(unpacking packer: inout Packer) {
        self.init(number: 0)
        pass(&packer)
    }
}

/// A table of them, which expectations may look at.
private final class Dormitory {
    private var table = RestTable<Sleeper>()

    var count: Int { table.count }
    var wakefulCount: Int { table.wakefulCount }
    /// What its packed elements were charged with, and what they take.
    var packed: [Int] { [table.packedChargeByteCount, table.packedByteCount] }
    var nextSlot: Int { table.nextSlot }
    var slots: Range<Int> { table.slots }

    subscript(slot: Int) -> Sleeper {
        get { table[slot] }
        set { table[slot] = newValue }
    }

    @discardableResult
    func insert(_ sleeper: Sleeper) -> Int { table.insert(sleeper) }
    func remove(_ slot: Int) { table.remove(slot) }
    func sweep() -> Int { table.sweep() }
    func find(_ slot: Int) -> Sleeper? { table.find(slot) }
    func isLive(_ slot: Int) -> Bool { table.isLive(slot) }
    func isPacked(_ slot: Int) -> Bool { table.isPacked(slot) }
    func packedByteCount(_ slot: Int) -> Int? { table.packedByteCount(slot) }
}

@Suite struct RestTableTests {
    @Test func `what may rest is packed, and unpacked where it is looked at`() {
        let table = Dormitory()
        for number in 0..<4 { table.insert(Sleeper(number: UInt64(number) * 1000, isTired: number != 1)) }
        #expect(table.wakefulCount == 4)
        #expect(table.sweep() == 3)
        #expect(table.wakefulCount == 1 && table.count == 4)
        #expect((0..<4).map { table.isPacked($0) } == [true, false, true, true])
        // One word of two bytes, a mask, the number of words and of bytes.
        #expect(table.packedByteCount(2) == 2 + 1 + 1 + 2 && table.packedByteCount(1) == nil)
        #expect(table[2].number == 2000 && !table[2].isTired)
        #expect(!table.isPacked(2) && table.wakefulCount == 2)
        // A packed element's charge stands beside what it takes.
        #expect(table.packed == [2000, 2 * 32])
        table[2].number = 7
        table[2].isTired = true
        #expect(table.sweep() == 1 && table.packed[0] == 3000 && table[2].number == 7)
        table.remove(0)
        table.remove(3)
        #expect(table.packed == [0, 0])
    }

    @Test func `a copy is taken of what is packed and leaves it so`() {
        let table = Dormitory()
        table.insert(Sleeper(number: 5, isTired: true))
        #expect(table.find(0)?.number == 5 && table.sweep() == 1)
        #expect(table.find(0)?.number == 5 && table.isPacked(0))
        #expect(table.find(1) == nil && table.find(-1) == nil)
    }

    @Test func `a number that was freed is given out again, packed or not`() {
        let table = Dormitory()
        for number in 0..<3 { table.insert(Sleeper(number: UInt64(number), isTired: number == 0)) }
        _ = table.sweep()
        table.remove(0)
        table.remove(2)
        #expect(table.count == 1 && table.nextSlot == 2 && table.wakefulCount == 1)
        #expect(!table.isLive(0) && table.isLive(1) && !table.isLive(2) && !table.isLive(3) && !table.isLive(-1))
        #expect(table.insert(Sleeper(number: 8, isTired: true)) == 2)
        #expect(table.insert(Sleeper(number: 9, isTired: true)) == 0)
        #expect(table.wakefulCount == 3 && table.sweep() == 2 && table.wakefulCount == 1)
        #expect(table.slots.map { table[$0].number } == [9, 1, 8])
    }

    @Test func `a number that comes and goes between sweeps is looked at once`() {
        let table = Dormitory()
        for _ in 0..<5 {
            let slot = table.insert(Sleeper(number: 1))
            table.remove(slot)
        }
        #expect(table.sweep() == 0 && table.wakefulCount == 0)
        table.insert(Sleeper(number: 1, isTired: true))
        #expect(table.sweep() == 1 && table.sweep() == 0)
    }

    @Test func `what is packed, removed, or in a table that is gone, is let go of`() {
        weak var packed: Sleeper.Token?
        weak var removed: Sleeper.Token?
        weak var left: Sleeper.Token?
        func play() {
            let table = Dormitory()
            for isTired in [true, false, false] {
                table.insert(Sleeper(number: 1, isTired: isTired, token: Sleeper.Token()))
            }
            packed = table[0].token
            removed = table[1].token
            left = table[2].token
            _ = table.sweep()
            table.remove(1)
            #expect(packed == nil && removed == nil && left != nil)
        }
        play()
        #expect(left == nil)
    }

    @Test func `memory that elements leave serves others, and is bounded`() {
        let table = Dormitory()
        for round in 0..<3 as Range<UInt64> {
            for number in 0..<100 as Range<UInt64> {
                let slot = table.insert(Sleeper(number: number + round, isTired: true))
                #expect(slot == Int(number))
            }
            #expect(table.sweep() == 100)
            #expect(table.slots.map { table[$0].number } == (0..<100).map { $0 + round })
            for slot in table.slots.reversed() { table.remove(slot) }
        }
        #expect(table.sweep() == 0 && table.count == 0)
    }

    @Test func `a number that is freed awake and given out again is packed where it was`() {
        let table = Dormitory()
        table.insert(Sleeper(number: 1, isTired: true))
        #expect(table.sweep() == 1 && table[0].number == 1)
        table.remove(0)
        table.insert(Sleeper(number: 2, isTired: true))
        #expect(table.sweep() == 1 && table[0].number == 2)
        table.remove(0)
        #expect(table.sweep() == 0 && table.count == 0)
    }

    @Test func `a number without an element is the caller's mistake`() async {
        await #expect(processExitsWith: .failure) {
            let table = Dormitory()
            table.insert(Sleeper(number: 1))
            table.remove(0)
            _ = table[0]
        }
    }
}
