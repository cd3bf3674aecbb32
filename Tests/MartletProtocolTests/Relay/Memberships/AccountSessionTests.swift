import MartletWire
import Testing

@testable import MartletProtocol

@Suite
struct AccountSessionTests {
    private let now = Instant(nanoseconds: 1_000_000_000)

    // R-131, Specs/hostile.md row 76
    @Test("the 65th open request is refused, until one is answered or its deadline has passed")
    func requests() {
        var session = AccountSession()
        for number in 1...64 { #expect(session.begin(UInt64(number), deadline: .seconds(5), now: now)) }
        #expect(!session.begin(65, deadline: .seconds(5), now: now))
        #expect(session.finish(1) && !session.finish(1))
        #expect(session.begin(65, deadline: .seconds(5), now: now))
        #expect(session.begin(66, deadline: .seconds(5), now: now + .seconds(6)))
        #expect(session.requestCount == 1)
    }

    //
    @Test("two pages wait or are read, and a third one is refused")
    func pages() {
        var session = AccountSession()
        #expect(session.append(1, RoomListQuery()) && session.append(2, RoomListQuery()))
        #expect(!session.append(3, RoomListQuery()))
        #expect(session.nextRead(hasRoom: false, now: now) == .page(correlation: 1, RoomListQuery()))
        #expect(!session.append(3, RoomListQuery()))
        #expect(session.nextRead(hasRoom: true, now: now) == nil)
        #expect(session.readEnded() == .page(correlation: 1, RoomListQuery()))
        #expect(session.append(3, RoomListQuery()))
    }

    //
    @Test("updates are read when the link has room, 50 ms apart, and behind pages")
    func updates() {
        var session = AccountSession()
        session.pending.note(.lobby, AccountProgress())
        #expect(session.nextRead(hasRoom: false, now: now) == nil)
        #expect(session.nextRead(hasRoom: true, now: now) == .rooms([.lobby: AccountProgress()]))
        _ = session.readEnded()
        session.pending.note(.hall, AccountProgress())
        #expect(session.nextRead(hasRoom: true, now: now) == nil)
        #expect(session.deadline == now + AccountSession.updateInterval)
        #expect(session.append(1, RoomListQuery()))
        #expect(session.nextRead(hasRoom: true, now: now) == .page(correlation: 1, RoomListQuery()))
        _ = session.readEnded()
        #expect(session.nextRead(hasRoom: true, now: now + .milliseconds(50)) == .rooms([.hall: AccountProgress()]))
    }
}
