import MartletTransport
import Testing

@testable import Martlet

@Suite("Pending sends", .timeLimit(.minutes(10))) struct WaitingSendsTests {
    private func filled(_ count: Int) throws -> (WaitingSends, numbers: [UInt64]) {
        var sends = WaitingSends()
        let numbers = try (0..<count).map { sends.append(try OutgoingMessage(text: "\($0)"), Promise()) }
        return (sends, numbers)
    }

    @Test func `the other sends keep their order when a send is withdrawn`() throws {
        var (sends, numbers) = try filled(5)
        for index in [1, 0, 4] {
            let isWithdrawn = sends.withdraw(numbers[index])
            #expect(isWithdrawn)
        }
        #expect(sends.count == 2)
        #expect(sends.first?.message == (try OutgoingMessage(text: "2")))
        let rest = [sends.popFirst()?.message, sends.popFirst()?.message, sends.popFirst()?.message]
        #expect(rest == [try OutgoingMessage(text: "2"), try OutgoingMessage(text: "3"), nil])
        #expect(sends.isEmpty)
    }

    @Test func `a withdrawn send between two others → the last one is first after the pop of the first one`() throws {
        var (sends, numbers) = try filled(4)
        for index in [1, 2] {
            let isWithdrawn = sends.withdraw(numbers[index])
            #expect(isWithdrawn)
        }
        #expect(sends.popFirst()?.message == (try OutgoingMessage(text: "0")))
        #expect(sends.first?.message == (try OutgoingMessage(text: "3")))
        #expect(sends.popFirst()?.message == (try OutgoingMessage(text: "3")))
        #expect(sends.isEmpty)
    }

    @Test func `the withdrawal of a withdrawn or admitted send returns false`() throws {
        var (sends, numbers) = try filled(3)
        _ = sends.popFirst()
        let withdrawals = [sends.withdraw(numbers[0]), sends.withdraw(numbers[1]), sends.withdraw(numbers[1])]
        #expect(withdrawals == [false, true, false])
        #expect(sends.removeWaiting().count == 1)
        #expect(sends.isEmpty)
        let late = sends.withdraw(numbers[2])
        #expect(!late)
    }

    @Test func `a send that waits for the outbox is found by its promise and taken by its counter`() throws {
        var (sends, _) = try filled(1)
        let promise = Promise<MessageHandle>()
        sends.store(7, promise)
        #expect(sends.counter(of: promise) == 7)
        #expect(sends.counter(of: Promise()) == nil)
        #expect(sends.removeWaiting().count == 1)
        let taken = [sends.take(7), sends.take(7)]
        #expect(taken.map { $0 === promise } == [true, false])
        sends.store(8, promise)
        #expect(sends.removeAll().count == 1)
    }

    /// A linear search and a copy for each withdrawal would take 10¹⁰ steps.
    @Test func `the remaining send is first after 100,000 withdrawals in any order`() throws {
        let count = 100_000
        var (sends, numbers) = try filled(count)
        let isLeft = 77_777
        // 7,919 and the count are coprime, so each index occurs once.
        for step in 0..<count where step * 7919 % count != isLeft {
            let isWithdrawn = sends.withdraw(numbers[step * 7919 % count])
            guard isWithdrawn else {
                Issue.record("send \(step) was not there")
                return
            }
        }
        #expect(sends.count == 1)
        #expect(sends.popFirst()?.message == (try OutgoingMessage(text: "\(isLeft)")))
        #expect(sends.popFirst()?.message == nil)
    }
}
