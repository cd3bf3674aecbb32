import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite
struct AccountSessionTests {
    private let now = Instant(nanoseconds: 1_000_000_000)

    // R-131, Specs/hostile.md row 76
    @Test("the 65th open request is refused, until one is answered or its deadline has passed")
    func requests() {
        var session = AccountSession()
        var begun = (1...65).map { session.begin(UInt64($0), deadline: .seconds(5), now: now) != nil }
        #expect(begun == Array(repeating: true, count: 64) + [false])
        let finished = [session.finish(1), session.finish(1)]
        let correlations: [UInt64?] = [1, nil]
        #expect(finished == correlations)
        begun = [
            session.begin(65, deadline: .seconds(5), now: now) != nil,
            session.begin(66, deadline: .seconds(5), now: now + .seconds(6)) != nil,
        ]
        #expect(begun == [true, true])
        #expect(session.requestCount == 1)
    }

    // S-54, S-56
    @Test("of three open requests with the same correlation each ends for itself, and a cancel ends the first")
    func sameCorrelation() {
        var session = AccountSession()
        let numbers = (1...3).compactMap { _ in session.begin(7, deadline: .seconds(5), now: now) }
        #expect(numbers == [1, 2, 3])
        #expect(session.requestCount == 3)
        session.cancel(7)
        let finished = numbers.map { session.finish($0) }
        let correlations: [UInt64?] = [nil, 7, 7]
        #expect(finished == correlations)
        #expect(session.requestCount == 0)
    }

    // S-54, R-147
    @Test("overdue requests with the same correlation all end, and a later one stays open")
    func overdue() {
        var session = AccountSession()
        for seconds in [1, 2, 3] { _ = session.begin(7, deadline: .seconds(seconds), now: now) }
        session.close()
        #expect(session.deadline == now + .seconds(1))
        let ended = session.takeOverdue(now: now + .seconds(2))
        #expect(ended == [7, 7])
        #expect(session.requestCount == 1)
    }

    //
    @Test("two pages wait or are read, and a third one is refused")
    func pages() {
        var session = AccountSession()
        let appended = (1...3).map { session.append($0, RoomListQuery()) }
        #expect(appended == [true, true, false])
        let first = session.nextRead(hasRoom: false, now: now)
        #expect(first == .page(number: 1, RoomListQuery()))
        let isThirdAppended = session.append(3, RoomListQuery())
        #expect(!isThirdAppended)
        let second = session.nextRead(hasRoom: true, now: now)
        #expect(second == nil)
        session.readEnded([])
        let ended = session.takeDecided()?.read
        #expect(ended == .page(number: 1, RoomListQuery()))
        let isAppendedAfterwards = session.append(3, RoomListQuery())
        #expect(isAppendedAfterwards)
    }

    //
    @Test("updates are read when the link has room, 50 ms apart, and behind pages")
    func updates() {
        var session = AccountSession()
        session.pending.note(.lobby, AccountProgress())
        var read = session.nextRead(hasRoom: false, now: now)
        #expect(read == nil)
        read = session.nextRead(hasRoom: true, now: now)
        #expect(read == .rooms([.lobby: AccountProgress()]))
        session.readEnded([])
        _ = session.takeDecided()
        session.pending.note(.hall, AccountProgress())
        read = session.nextRead(hasRoom: true, now: now)
        #expect(read == nil)
        #expect(session.deadline == now + AccountSession.updateInterval)
        let isAppended = session.append(1, RoomListQuery())
        #expect(isAppended)
        read = session.nextRead(hasRoom: true, now: now)
        #expect(read == .page(number: 1, RoomListQuery()))
        session.readEnded([])
        _ = session.takeDecided()
        read = session.nextRead(hasRoom: true, now: now + .milliseconds(50))
        #expect(read == .rooms([.hall: AccountProgress()]))
    }

    //
    @Test("a change before the close of a session and another change behind it → no update is read")
    func changesAndClose() {
        var session = AccountSession()
        session.note(.lobby, AccountProgress())
        session.close()
        var read = session.nextRead(hasRoom: true, now: now)
        #expect(read == nil)
        session.note(.hall, AccountProgress())
        read = session.nextRead(hasRoom: true, now: now)
        #expect(read == nil)
    }

    //
    @Test func `a message is erased during a read of two rooms → the entry of its room without its last message`() {
        var session = AccountSession()
        session.noteErasure(in: .hall)
        session.note(.lobby, AccountProgress())
        session.note(.hall, AccountProgress())
        _ = session.nextRead(hasRoom: true, now: now)
        session.noteErasure(in: .lobby)
        let entries = [RoomName.lobby, .hall].map {
            StoredRoomEntry(RoomEntry(room: $0, membership: .joined, lastOffset: 1, message: [1]))
        }
        session.readEnded(entries)
        #expect(session.takeDecided()?.entries?.map(\.entry.message) == [nil, [1]])
    }
}
