import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct RetiredSessionsTests {
    private let one = SessionID(rawValue: 1)

    // S-14
    @Test func `the last acknowledgement is repeated once per late frame`() {
        var retired = RetiredSessions()
        _ = retired.insert(one, RetiredSessions.Record(cumulative: 9, creditReceived: 70, owesAck: true))
        #expect(retired.popOwed() == SessionAck(session: one, cumulative: 9, creditLimit: 70))
        #expect(retired.popOwed() == nil)
        retired.oweAck(one)
        retired.oweAck(one)
        retired.oweAck(SessionID(rawValue: 3))
        #expect(retired.owed.count == 1)
        #expect(retired.popOwed()?.cumulative == 9)
        #expect(retired.popOwed() == nil)
    }

    // S-13
    @Test func `a new session replaces the oldest one, whose unreleased credit is returned`() {
        var retired = RetiredSessions()
        for number in 0..<RetiredSessions.maxCount {
            let record = RetiredSessions.Record(cumulative: 0, unreleased: UInt64(number) + 1, owesAck: true)
            #expect(retired.insert(SessionID(rawValue: UInt16(number)), record) == 0)
        }
        #expect(retired.insert(SessionID(rawValue: 500), RetiredSessions.Record(cumulative: 0)) == 1)
        #expect(retired.insert(SessionID(rawValue: 501), RetiredSessions.Record(cumulative: 0)) == 2)
        #expect(retired.count == RetiredSessions.maxCount)
        #expect(retired[SessionID(rawValue: 0)] == nil && retired[SessionID(rawValue: 2)] != nil)
        // A removed session owes no acknowledgement.
        #expect(retired.popOwed()?.session == SessionID(rawValue: 2))
        #expect(retired.insert(SessionID(rawValue: 500), RetiredSessions.Record(cumulative: 4)) == 0)
        #expect(retired[SessionID(rawValue: 500)]?.cumulative == 4)
    }

    @Test func `at most the credit that the application holds is released`() {
        var retired = RetiredSessions()
        _ = retired.insert(one, RetiredSessions.Record(cumulative: 0, unreleased: 100))
        #expect(retired.release(60, of: one) == 60)
        #expect(retired.release(60, of: one) == 40)
        #expect(retired.release(60, of: one) == 0)
        #expect(retired.release(60, of: SessionID(rawValue: 3)) == 0)
    }

    // S-11
    @Test func `the used credit of a session is settled once, and not below the received credit`() {
        var retired = RetiredSessions()
        _ = retired.insert(one, RetiredSessions.Record(cumulative: 0, creditReceived: 100))
        #expect(retired.settle(one, creditUsed: 99) == nil)
        #expect(retired.settle(one, creditUsed: 150) == 50)
        #expect(retired.settle(one, creditUsed: 200) == 0)
        #expect(retired.settle(SessionID(rawValue: 3), creditUsed: 5) == 0)
    }
}
