import Testing

@testable import MartletLink

@Suite struct SlotTableTests {
    @Test func `freed slots are reused, the last freed one first`() {
        var table = SlotTable<String>()
        #expect(["a", "b", "c"].map { table.insert($0) } == [0, 1, 2])
        table.remove(0)
        table.remove(2)
        #expect(table.count == 1 && table.nextSlot == 2 && table.slots == 0..<3)
        #expect(!table.isLive(0) && table.isLive(1) && !table.isLive(3) && !table.isLive(-1))
        #expect(["d", "e", "f"].map { table.insert($0) } == [2, 0, 3])
        #expect(table.slots.map { table[$0] } == ["e", "b", "d", "f"])
        #expect(table.find(1) == "b" && table.find(4) == nil)
    }

    @Test func `a change of an element in place does not affect a copy of the table`() {
        var table = SlotTable<[Int]>()
        table.insert([1])
        let before = table
        table[0].append(2)
        #expect(table[0] == [1, 2] && before[0] == [1])
    }

    @Test func `an element is released by its removal and with its table`() {
        final class Token {}
        var table: SlotTable<Token>? = SlotTable()
        for _ in 0..<9 { table?.insert(Token()) }
        weak let removed = table?.find(3)
        weak let kept = table?.find(8)
        table?.remove(3)
        #expect(removed == nil && kept != nil)
        table = nil
        #expect(kept == nil)
    }

    @Test func `access to an empty slot and its removal trap`() async {
        await #expect(processExitsWith: .failure) {
            var table = SlotTable<Int>()
            table.insert(1)
            table.remove(0)
            _ = table[0]
        }
        await #expect(processExitsWith: .failure) {
            var table = SlotTable<Int>()
            table.remove(0)
        }
    }
}
