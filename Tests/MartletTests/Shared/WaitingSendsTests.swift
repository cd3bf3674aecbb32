import Testing

@testable import Martlet

@Suite("Sends that wait", .timeLimit(.minutes(1))) struct WaitingSendsTests {
    private func filled(_ count: Int) throws -> (WaitingSends, tickets: [UInt64]) {
        var waiting = WaitingSends()
        let tickets = try (0..<count).map { waiting.append(try OutgoingMessage(text: "\($0)"), OneShot()) }
        return (waiting, tickets)
    }

    @Test func `a send that is withdrawn leaves the others in their order`() throws {
        var (waiting, tickets) = try filled(5)
        for index in [1, 0, 4] {
            let isWithdrawn = waiting.withdraw(tickets[index])
            #expect(isWithdrawn)
        }
        #expect(waiting.count == 2)
        #expect(waiting.first?.message == (try OutgoingMessage(text: "2")))
        let rest = [waiting.popFirst()?.message, waiting.popFirst()?.message, waiting.popFirst()?.message]
        #expect(rest == [try OutgoingMessage(text: "2"), try OutgoingMessage(text: "3"), nil])
        #expect(waiting.isEmpty)
    }

    @Test func `a send that was withdrawn or let in cannot be withdrawn`() throws {
        var (waiting, tickets) = try filled(3)
        _ = waiting.popFirst()
        let withdrawals = [waiting.withdraw(tickets[0]), waiting.withdraw(tickets[1]), waiting.withdraw(tickets[1])]
        #expect(withdrawals == [false, true, false])
        #expect(waiting.removeAll().count == 1)
        #expect(waiting.isEmpty)
        let late = waiting.withdraw(tickets[2])
        #expect(!late)
    }

    /// With a search and a copy for each, these are ten thousand million steps.
    @Test func `a hundred thousand sends are withdrawn in any order, and one that is left is still there`() throws {
        let count = 100_000
        var (waiting, tickets) = try filled(count)
        let isLeft = 77_777
        // 7,919 is prime to the count: each comes once.
        for step in 0..<count where step * 7919 % count != isLeft {
            let isWithdrawn = waiting.withdraw(tickets[step * 7919 % count])
            guard isWithdrawn else {
                Issue.record("\(step) was not there")
                return
            }
        }
        #expect(waiting.count == 1)
        #expect(waiting.popFirst()?.message == (try OutgoingMessage(text: "\(isLeft)")))
        #expect(waiting.popFirst()?.message == nil)
    }
}
