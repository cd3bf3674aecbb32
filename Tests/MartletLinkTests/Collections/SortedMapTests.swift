import MartletWire
import Testing

@testable import MartletLink

@Suite struct SortedMapTests {
    @Test func `values are found by their keys, and iterated in the order of the keys`() {
        var map = SortedMap<Int, String>()
        for key in [5, 1, 3] { map[key] = "\(key)" }
        map[3] = "three"
        #expect(Array(map.keys) == [1, 3, 5] && Array(map.values) == ["1", "three", "5"])
        #expect(map[3] == "three" && map[2] == nil && map[6] == nil)
        #expect(map.index(of: 5) == 2 && map.index(of: 0) == nil)
    }

    @Test func `a value changes in place and is removed by its key`() {
        var map = SortedMap<Int, [Int]>()
        map[1] = []
        map[at: 0].append(7)
        #expect(map[1] == [7])
        #expect(map.removeValue(forKey: 2) == nil)
        #expect(map.removeValue(forKey: 1) == [7])
        map[3] = []
        map[3] = nil
        #expect(map.isEmpty && map.count == 0)
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func `random changes give the results of a dictionary`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var map = SortedMap<UInt8, Int>()
        var model: [UInt8: Int] = [:]
        for step in 0..<2000 {
            let key = UInt8.random(in: 0..<40, using: &random)
            if Bool.random(using: &random) {
                map[key] = step
                model[key] = step
            } else {
                #expect(map.removeValue(forKey: key) == model.removeValue(forKey: key))
            }
            #expect(map.count == model.count && map[key] == model[key])
            #expect(Array(map.keys) == model.keys.sorted())
        }
    }
}
