import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite
struct ClientRoomListTests {
    private func entry(_ name: String, _ offset: UInt64 = 0) -> RoomEntry {
        RoomEntry(room: .named(name), membership: .joined, lastOffset: offset)
    }

    //
    @Test("of a page and an update the later one counts; an update after the list is passed on")
    func order() {
        var list = ClientRoomList()
        #expect(list.take(entry("a")) == .none)
        #expect(list.begin() == RoomListQuery())
        #expect(list.take(entry("a", 1)) == .none)
        let first = RoomListPage(entries: [entry("a", 2), entry("b", 2)], hasMore: true)
        #expect(list.take(first) == .request(RoomListQuery(after: .named("b"))))
        #expect(list.take(entry("b", 3)) == .none)
        #expect(list.take(RoomEntry(room: .named("a"), membership: .none)) == .none)
        let last = RoomListPage(entries: [entry("c", 4)], hasMore: false)
        #expect(list.take(last) == .listed([entry("b", 3), entry("c", 4)]))
        #expect(list.take(entry("c", 5)) == .changed(entry("c", 5)) && list.isListed)
        list.end()
        #expect(list.isIdle && list.take(entry("c", 6)) == .none)
    }

    // Specs/hostile.md row 82
    @Test("pages without end are not requested beyond the maximum")
    func endless() {
        var list = ClientRoomList()
        _ = list.begin()
        var number = 0
        var step = ClientRoomList.Step.none
        repeat {
            let entries = (0..<64).map { _ -> RoomEntry in
                number += 1
                return entry(String(1_000_000 + number))
            }
            step = list.take(RoomListPage(entries: entries, hasMore: true))
        } while list.query != nil && number < 10_000
        #expect(number == ClientRoomList.maxCount)
        if case .listed(let entries) = step { #expect(entries.count == number) } else { Issue.record("not listed") }
    }
}
