import MartletWire
import Testing

@testable import MartletProtocol

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

    @Test("a failure of the store resets the sessions that wait")
    func failure() {
        var sessions = AccountSessions(place: .only)
        _ = sessions.opened(key(1), of: .alice)
        #expect(sessions.namesRead(nil, of: .alice) == [.reset(key(1), .storeUnavailable)])
    }
}
