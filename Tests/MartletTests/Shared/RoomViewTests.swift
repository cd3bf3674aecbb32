import MartletLink
import MartletRelay
import MartletWire
import Testing

@testable import Martlet

@Suite("Room view") struct RoomViewTests {
    private static let alice = AccountName("alice")
    private static let bob = AccountName("bob")
    private static let log = LogID(rawValue: 7)

    private func opened(_ members: AccountName...) -> RoomView {
        var view = RoomView()
        _ = view.opened(firstOffset: 1, lastOffset: 9, members: members, log: Self.log)
        return view
    }

    @Test func `opened → the members are online, and the offsets and the log are those of the relay`() {
        let view = opened(Self.alice, Self.bob)
        #expect(view.presences == [Self.alice: .online, Self.bob: .online])
        #expect((view.firstOffset, view.lastOffset) == (1, 9))
        #expect(view.log == Self.log)
    }

    @Test func `presence changes → the members follow, and a repeated one has no effect`() {
        var view = opened(Self.alice)
        let changes = [
            view.note(Self.alice, .away), view.note(Self.alice, .away), view.note(Self.bob, .online),
            view.note(Self.alice, .left), view.note(Self.alice, .left),
        ]
        #expect(changes == [true, false, true, true, false])
        #expect(view.presences == [Self.bob: .online])
    }

    @Test func `typing of a member that leaves, or of an account that is no member → not typing`() {
        var view = opened(Self.alice)
        let changes = [
            view.note(Self.alice, isTyping: true), view.note(Self.alice, isTyping: true),
            view.note(Self.bob, isTyping: true), view.note(Self.alice, .left),
        ]
        #expect(changes == [true, false, false, true])
        #expect(view.typing.isEmpty)
    }

    @Test func `members beyond the maximum are not stored`() {
        var view = opened()
        for number in 0..<RoomView.maxMembers { _ = view.note(AccountName("member\(number)")!, .online) }
        let changes = [view.note(Self.alice, .online), view.note(AccountName("member7"), .away)]
        #expect(changes == [false, true])
        #expect(view.presences.count == RoomView.maxMembers)
    }

    @Test func `read offsets only rise, and those of another log have no effect`() {
        var view = opened()
        let changes = [
            view.read(upTo: RoomCursor(log: Self.log, offset: 5)), view.read(upTo: RoomCursor(offset: 4)),
            view.read(upTo: RoomCursor(log: LogID(rawValue: 8), offset: 6)),
        ]
        #expect(changes == [true, false, false])
        #expect(view.readOffset == 5)
    }

    @Test func `another log → the read offset is at most the branch; the same log → it is at most the last offset`() {
        var view = opened()
        _ = view.read(upTo: RoomCursor(offset: 5))
        _ = view.opened(firstOffset: 1, lastOffset: 9, members: [], log: Self.log)
        #expect(view.readOffset == 5)
        _ = view.opened(firstOffset: 1, lastOffset: 4, members: [], log: Self.log)
        #expect(view.readOffset == 4)
        _ = view.opened(firstOffset: 1, lastOffset: 8, members: [], log: LogID(rawValue: 8), branch: 3)
        #expect(view.readOffset == 3)
        _ = view.opened(firstOffset: 1, lastOffset: 8, members: [], log: LogID(rawValue: 9), branch: 0)
        #expect(view.readOffset == 0)
    }

    @Test func `a read offset before a room without a stored log is open → no effect`() {
        var view = RoomView()
        let isChanged = view.read(upTo: RoomCursor(offset: 5))
        _ = view.opened(firstOffset: 1, lastOffset: 9, members: [], log: Self.log)
        #expect(!isChanged && view.readOffset == 0)
    }

    @Test func `a read offset of the stored log before the room is open → kept`() {
        var view = RoomView(log: Self.log)
        let changes = [
            view.read(upTo: RoomCursor(log: LogID(rawValue: 8), offset: 6)),
            view.read(upTo: RoomCursor(log: Self.log, offset: 5)),
        ]
        _ = view.opened(firstOffset: 1, lastOffset: 9, members: [], log: Self.log)
        #expect(changes == [false, true])
        #expect(view.readOffset == 5)
    }
}
