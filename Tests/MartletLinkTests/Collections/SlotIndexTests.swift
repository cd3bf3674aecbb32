import MartletWire
import Testing

@testable import MartletLink

@Suite struct SlotIndexTests {
    /// Compares the index with a dictionary over random changes.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `random changes give the results of a dictionary`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var index = SlotIndex()
        var keys: [Int: String] = [:]
        var slots: [String: Int] = [:]
        for _ in 0..<5000 {
            let key = "key \(random.next() % 300)"
            if let slot = slots[key], random.next() % 3 != 0 {
                index.remove(key, slot)
                slots[key] = nil
                keys[slot] = nil
            } else if slots[key] == nil {
                let slot = Int(random.next() % 100_000)
                guard keys[slot] == nil else { continue }
                index.insert(key, slot)
                slots[key] = slot
                keys[slot] = key
            }
            let asked = "key \(random.next() % 300)"
            #expect(index.find(asked) { keys[$0] == asked } == slots[asked])
        }
        #expect(index.count == slots.count)
        for (key, slot) in slots { index.remove(key, slot) }
        #expect(index.isEmpty && index.find("key 1") { _ in true } == nil)
    }

    @Test func `the removal of an absent key or slot has no effect`() {
        var index = SlotIndex()
        index.remove("a", 1)
        index.insert("a", 1)
        index.remove("a", 2)
        index.remove("b", 1)
        #expect(index.find("a") { $0 == 1 } == 1)
    }
}
