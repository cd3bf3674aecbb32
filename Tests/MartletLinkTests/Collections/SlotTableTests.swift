import Testing

@testable import MartletLink

@Suite struct SlotTableTests {
    @Test func `freed slots are reused, the last freed one first`() {
        var table = SlotTable<String>()
        for (slot, name) in ["a", "b", "c"].enumerated() { #expect(table.insert(name) == slot) }
        table.remove(0)
        table.remove(2)
        #expect(table.count == 1 && table.nextSlot == 2 && table.slots == 0..<3)
        #expect([0, 1, 2, 3, -1].filter { table.isLive($0) } == [1])
        for (slot, name) in [(2, "d"), (0, "e"), (3, "f")] { #expect(table.insert(name) == slot) }
        #expect(table.slots.map { table[$0] } == ["e", "b", "d", "f"])
        #expect(table.find(1) == "b" && table.find(4) == nil)
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
