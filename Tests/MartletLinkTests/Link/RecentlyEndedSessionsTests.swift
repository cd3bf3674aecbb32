import MartletWire
import Testing

@testable import MartletLink

@Suite struct RecentlyEndedSessionsTests {
    private let one = SessionID(rawValue: 1)

    // S-14
    @Test func `the last acknowledgement is repeated once per late frame`() {
        var recentlyEnded = RecentlyEndedSessions()
        _ = recentlyEnded.insert(one, RecentlyEndedSessions.Record(cumulative: 9, creditReceived: 70, owesAck: true))
        #expect(recentlyEnded.popOwed() == SessionAck(session: one, cumulative: 9, creditLimit: 70))
        #expect(recentlyEnded.popOwed() == nil)
        recentlyEnded.oweAck(one)
        recentlyEnded.oweAck(one)
        recentlyEnded.oweAck(SessionID(rawValue: 3))
        #expect(recentlyEnded.owed.count == 1)
        #expect(recentlyEnded.popOwed()?.cumulative == 9)
        #expect(recentlyEnded.popOwed() == nil)
    }

    // S-14, S-59
    @Test func `each late frame is expected once on each connection`() {
        var recentlyEnded = RecentlyEndedSessions()
        _ = recentlyEnded.insert(one, RecentlyEndedSessions.Record(cumulative: 9))
        let first = (10...1_200).map { recentlyEnded.noteLate($0, of: one) }
        #expect(first.allSatisfy { $0 })
        let repeated = recentlyEnded.noteLate(1_200, of: one)
        #expect(!repeated)
        recentlyEnded.connectionEnded()
        let second = (10...1_200).map { recentlyEnded.noteLate($0, of: one) }
        #expect(second.allSatisfy { $0 })
    }

    // S-14, S-59: the last acknowledgement was lost with the connection, so the peer retransmits received frames too.
    @Test func `on a later connection, frames that had been received are expected once more`() {
        var recentlyEnded = RecentlyEndedSessions()
        _ = recentlyEnded.insert(one, RecentlyEndedSessions.Record(cumulative: 1_400))
        let early = recentlyEnded.noteLate(1_400, of: one)
        #expect(!early)
        recentlyEnded.connectionEnded()
        let again = (1...1_400).map { recentlyEnded.noteLate($0, of: one) }
        #expect(again.allSatisfy { $0 })
        let repeated = recentlyEnded.noteLate(700, of: one)
        #expect(!repeated)
    }

    // S-13
    @Test func `a new session replaces the oldest one, whose unreleased credit is returned`() {
        var recentlyEnded = RecentlyEndedSessions()
        for number in 0..<RecentlyEndedSessions.maxCount {
            let record = RecentlyEndedSessions.Record(cumulative: 0, unreleased: UInt64(number) + 1, owesAck: true)
            #expect(recentlyEnded.insert(SessionID(rawValue: UInt16(number)), record) == 0)
        }
        #expect(recentlyEnded.insert(SessionID(rawValue: 500), RecentlyEndedSessions.Record(cumulative: 0)) == 1)
        #expect(recentlyEnded.insert(SessionID(rawValue: 501), RecentlyEndedSessions.Record(cumulative: 0)) == 2)
        #expect(recentlyEnded.count == RecentlyEndedSessions.maxCount)
        #expect(recentlyEnded[SessionID(rawValue: 0)] == nil && recentlyEnded[SessionID(rawValue: 2)] != nil)
        // A removed session owes no acknowledgement.
        #expect(recentlyEnded.popOwed()?.session == SessionID(rawValue: 2))
        #expect(recentlyEnded.insert(SessionID(rawValue: 500), RecentlyEndedSessions.Record(cumulative: 4)) == 0)
        #expect(recentlyEnded[SessionID(rawValue: 500)]?.cumulative == 4)
    }

    @Test func `at most the credit that the application holds is released`() {
        var recentlyEnded = RecentlyEndedSessions()
        _ = recentlyEnded.insert(one, RecentlyEndedSessions.Record(cumulative: 0, unreleased: 100))
        #expect(recentlyEnded.release(60, of: one) == 60)
        #expect(recentlyEnded.release(60, of: one) == 40)
        #expect(recentlyEnded.release(60, of: one) == 0)
        #expect(recentlyEnded.release(60, of: SessionID(rawValue: 3)) == 0)
    }

    // S-11
    @Test func `the used credit of a session is settled once, and not below the received credit`() {
        var recentlyEnded = RecentlyEndedSessions()
        _ = recentlyEnded.insert(one, RecentlyEndedSessions.Record(cumulative: 0, creditReceived: 100))
        #expect(recentlyEnded.settle(one, creditUsed: 99) == nil)
        #expect(recentlyEnded.settle(one, creditUsed: 150) == 50)
        #expect(recentlyEnded.settle(one, creditUsed: 200) == 0)
        #expect(recentlyEnded.settle(SessionID(rawValue: 3), creditUsed: 5) == 0)
    }
}
