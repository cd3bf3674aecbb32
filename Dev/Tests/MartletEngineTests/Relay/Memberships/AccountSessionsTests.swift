import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite
struct AccountSessionsTests {
    private func key(_ number: UInt16) -> MemberKey {
        MemberKey(link: LinkKey(slot: 1, generation: 1), session: SessionID(rawValue: number))
    }

    private func watch(_ rooms: [RoomName], _ isWatching: Bool, isLast: Bool) -> AccountSessions.Output {
        .watch(WatchCall(loop: 0, account: .alice, rooms: rooms, isWatching: isWatching, isLast: isLast))
    }

    //
    @Test("a session is accepted when the loops of its rooms have answered, and a second one of the account at once")
    func accepts() {
        var sessions = AccountSessions(place: .only)
        #expect(sessions.opened(key(1), of: .alice) == [.readNames(.alice)])
        #expect(sessions.opened(key(3), of: .alice) == [])
        #expect(sessions.namesRead([.lobby], of: .alice) == [watch([.lobby], true, isLast: true)])
        #expect(sessions.watched(.alice, by: 0) == [.accept(key(1)), .accept(key(3))])
        #expect(sessions.opened(key(5), of: .alice) == [.accept(key(5))])
    }

    //
    @Test("the end of the last session ends the watch; a report for an account without a session does too")
    func ends() {
        var sessions = AccountSessions(place: .only)
        _ = sessions.opened(key(1), of: .alice)
        _ = sessions.namesRead([.lobby], of: .alice)
        _ = sessions.watched(.alice, by: 0)
        #expect(sessions.ended(key(1), of: .alice) == [watch([.lobby], false, isLast: false)])
        let change = RoomChange(account: .alice, progress: AccountProgress(), isWatched: true)
        #expect(sessions.changed(.lobby, [change]) == [watch([.lobby], false, isLast: false)])
        #expect(sessions.count == 0)
    }

    //
    @Test("a new record is pending for each session of the account")
    func changes() {
        var sessions = AccountSessions(place: .only)
        _ = sessions.opened(key(1), of: .alice)
        #expect(sessions.namesRead([], of: .alice) == [.accept(key(1))])
        let change = RoomChange(account: .alice, progress: AccountProgress(), isWatched: true)
        #expect(sessions.changed(.lobby, [change]) == [.check(key(1))])
        #expect(sessions[key(1)]?.pending.count == 1)
        #expect(sessions.ended(key(1), of: .alice) == [watch([.lobby], false, isLast: false)])
    }

    //
    @Test("the progress of an account is that of the latest reports, until its record is removed")
    func progress() {
        var sessions = AccountSessions(place: .only)
        func change(read: UInt64, isWatched: Bool = true) -> RoomChange {
            RoomChange(account: .alice, progress: AccountProgress(delivered: 9, read: read), isWatched: isWatched)
        }
        _ = sessions.opened(key(1), of: .alice)
        _ = sessions.changed(.lobby, [change(read: 3)])
        _ = sessions.namesRead([.hall, .lobby], of: .alice)
        #expect(sessions.progress(of: .alice)[.lobby] == AccountProgress(delivered: 9, read: 3))
        #expect(sessions.progress(of: .alice)[.hall] == AccountProgress())
        _ = sessions.watched(.alice, by: 0)
        _ = sessions.changed(.lobby, [change(read: 5)])
        #expect(sessions.progress(of: .alice)[.lobby]?.read == 5)
        _ = sessions.changed(.lobby, [change(read: 5, isWatched: false)])
        #expect(sessions.progress(of: .alice).keys.map(\.text) == ["hall"])
        _ = sessions.ended(key(1), of: .alice)
        #expect(sessions.progress(of: .alice).isEmpty && sessions.byteCount == 0)
    }

    @Test("a failure of the store resets the sessions that wait")
    func failure() {
        var sessions = AccountSessions(place: .only)
        _ = sessions.opened(key(1), of: .alice)
        #expect(sessions.namesRead(nil, of: .alice) == [.reset(key(1), .storeUnavailable)])
    }

    //
    @Test("watched rooms and pending updates count as memory until they end")
    func memory() {
        var sessions = AccountSessions(place: .only)
        func change(_ isWatched: Bool) -> RoomChange {
            RoomChange(account: .alice, progress: AccountProgress(), isWatched: isWatched)
        }
        for number in [1, 3] as [UInt16] { _ = sessions.opened(key(number), of: .alice) }
        let rooms = (0..<1_000).map { RoomName.named("room \($0)") }
        _ = sessions.namesRead(rooms, of: .alice)
        _ = sessions.watched(.alice, by: 0)
        let watching = sessions.byteCount
        #expect(watching >= 1_000 * 200)
        for _ in 0..<2 { _ = sessions.changed(rooms[0], [change(true)]) }
        let pending = sessions.byteCount - watching
        #expect(pending > 0)
        _ = sessions[key(1)]?.nextRead(hasRoom: true, now: .zero)
        #expect(sessions.byteCount == watching + pending / 2)
        for _ in 0..<2 { _ = sessions.changed(.lobby, [change(true)]) }
        let more = sessions.byteCount
        for _ in 0..<2 { _ = sessions.changed(.lobby, [change(false)]) }
        #expect(sessions.byteCount < more)
        for number in [1, 3] as [UInt16] { _ = sessions.ended(key(number), of: .alice) }
        #expect(sessions.byteCount == 0)
    }
}
