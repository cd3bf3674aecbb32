import MartletLink
import MartletWire
import Testing

@testable import Martlet

@Suite struct RoomListCoreTests {
    private func room(_ name: String) throws -> RoomName { try #require(RoomName(name)) }

    private func summary(_ name: String, lastOffset: UInt64 = 1) throws -> RoomSummary {
        try #require(RoomSummary(RoomEntry(room: room(name), membership: .joined, lastOffset: lastOffset)))
    }

    private func names(_ core: RoomListCore) -> [String]? { core.list?.map(\.name.text) }

    //
    @Test func `a second list replaces the first, also for an iteration that has read the first`() throws {
        let core = RoomListCore()
        let subscription = RoomListCore.Subscription(core)
        for list in [["b", "a"], ["c", "a"]] {
            core.listed(try list.map { try summary($0) })
            #expect(names(core) == list.sorted())
            guard case .update(.list(let read)) = core.next(for: subscription.id) else {
                Issue.record("the list was not reported")
                return
            }
            #expect(read.map(\.name.text) == list.sorted())
        }
    }

    @Test func `a room without a record is removed, and a room that changes twice is reported once`() throws {
        let core = RoomListCore()
        let subscription = RoomListCore.Subscription(core)
        core.listed([try summary("a"), try summary("b")])
        _ = core.next(for: subscription.id)
        core.changed(try room("b"), nil)
        for offset in [2, 3] as [UInt64] { core.changed(try room("a"), try summary("a", lastOffset: offset)) }
        #expect(names(core) == ["a"])
        guard case .update(.removed(let removed)) = core.next(for: subscription.id),
            case .update(.changed(let changed)) = core.next(for: subscription.id)
        else {
            Issue.record("the changes were not reported")
            return
        }
        #expect(removed.text == "b")
        #expect(try changed == summary("a", lastOffset: 3))
        guard case .empty = core.next(for: subscription.id) else {
            Issue.record("a change was reported twice")
            return
        }
    }
}
