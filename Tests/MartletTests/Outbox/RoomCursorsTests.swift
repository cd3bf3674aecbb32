import Testing

@testable import Martlet

@Suite("Cursors of rooms")
struct RoomCursorsTests {
    // C-84
    @Test func `more cursors than the maximum → the least recently used are removed, except those in use`() {
        var cursors = RoomCursors(maxCount: 4)
        for (offset, room) in (["1", "2", "3", "4", "2", "5"] as [RoomName]).enumerated() {
            cursors.advance(room, to: RoomCursor(offset: UInt64(offset + 1))) { ["1"] }
        }
        #expect(cursors.all.keys.sorted() == ["1", "2", "4", "5"])
    }

    @Test func `a lower cursor of the same log → unchanged`() {
        var cursors = RoomCursors(["1": RoomCursor(offset: 5)])
        let lower = cursors.advance("1", to: RoomCursor(offset: 4)) { [] }
        let higher = cursors.advance("1", to: RoomCursor(offset: 6)) { [] }
        #expect(!lower && higher && cursors["1"]?.offset == 6)
    }
}
