import MartletLink
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletPostgres

@Suite struct KnownRoomsTests {
    @Test func `more rooms than the maximum twice → the oldest are forgotten, one that is used is not`() {
        let count = 8
        var rooms = KnownRooms(maxYoungCount: count)
        func room(_ number: Int) -> KnownRoom { KnownRoom(id: Int64(number), log: LogID(rawValue: 1)) }
        for number in 0...count { rooms[RoomName("\(number)")!] = room(number) }
        #expect(rooms["0"] == room(0))
        for number in count + 1..<2 * count + 2 { rooms[RoomName("\(number)")!] = room(number) }
        #expect(rooms["0"] == room(0) && rooms["1"] == nil && rooms[RoomName("\(count + 5)")!] == room(count + 5))
        rooms["0"] = nil
        #expect(rooms["0"] == nil)
    }
}
