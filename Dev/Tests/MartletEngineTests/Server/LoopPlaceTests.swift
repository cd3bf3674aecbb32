import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite struct LoopPlaceTests {
    @Test func `with one loop all names belong to it`() {
        #expect(LoopPlace.only.loop(of: RoomName("lobby")) == 0)
        #expect(LoopPlace.only.loop(of: AccountName("alice")) == 0)
    }

    @Test(arguments: [2, 3, 4, 64]) func `names are distributed evenly, and alike on each loop`(_ count: Int) {
        let places = (0..<count).map { LoopPlace(index: $0, count: count) }
        var counts = [Int](repeating: 0, count: count)
        for number in 0..<(1000 * count) {
            let room = RoomName("room\(number)")!
            let loop = places[0].loop(of: room)
            counts[loop] += 1
            #expect(places.allSatisfy { $0.loop(of: room) == loop })
        }
        #expect(counts.allSatisfy { (850...1150).contains($0) })
    }

    @Test func `the loop of a name is the same in each process`() {
        let place = LoopPlace(index: 0, count: 64)
        #expect(["lobby", "kitchen", "a", "b"].map { place.loop(of: RoomName($0)!) } == [22, 5, 13, 28])
    }

    @Test(arguments: [(0, 0), (1, 1), (-1, 2), (0, 65)]) func `an invalid index or number of loops traps`(
        _ index: Int, _ count: Int
    ) async {
        let (index, count) = (index, count)
        await #expect(processExitsWith: .failure) { [index, count] in _ = LoopPlace(index: index, count: count) }
    }
}
