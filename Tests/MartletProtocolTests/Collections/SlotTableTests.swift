import Testing

@testable import MartletProtocol

@Suite struct SlotTableTests {
    @Test func `a number that was freed is given out again, the last freed first`() {
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

    @Test func `an element changes in place, and a copy of the table does not see it`() {
        var table = SlotTable<[Int]>()
        table.insert([1])
        let before = table
        table[0].append(2)
        #expect(table[0] == [1, 2] && before[0] == [1])
    }

    @Test func `an element that was removed, or whose table is gone, is let go of`() {
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

    @Test func `a number without an element is the caller's mistake`() async {
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
