import MartletProtocol
import MartletWire
import Testing

@testable import Martlet

@Suite("The ledger of a room's own messages")
struct SendLedgerTests {
    private let bob = AccountName("bob")!

    private func ledger(_ counters: ClosedRange<UInt64>) -> SendLedger {
        var ledger = SendLedger()
        for counter in counters { ledger.queue(counter, byteCount: 10) }
        return ledger
    }

    @Test func `a run settles each message once, with its offset`() {
        var ledger = ledger(1...5)
        let first = ledger.accepted(AcceptedRun(firstCounter: 2, count: 2, firstOffset: 7))
        #expect(first.map(\.counter) == [2, 3])
        let again = ledger.accepted(AcceptedRun(firstCounter: 1, count: 5, firstOffset: 6))
        #expect(again.map(\.counter) == [1, 4, 5])
        #expect((1...5).map { ledger.record(of: $0)?.offset } == [6, 7, 8, 9, 10])
        #expect(ledger.pendingCount == 0)
    }

    @Test func `a run that names counters beyond all that were sent settles what there is`() {
        var ledger = ledger(5...6)
        let settled = ledger.accepted(AcceptedRun(firstCounter: 1, count: .max, firstOffset: 1))
        #expect(settled.map(\.counter) == [5, 6])
        #expect(settled.map(\.byteCount) == [10, 10])
    }

    @Test func `a message accepted earlier, at an offset that the relay forgot, has none`() {
        var ledger = ledger(1...1)
        let answer1 = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 0))
        #expect(answer1.count == 1)
        #expect(ledger.record(of: 1)?.phase == .accepted)
        #expect(ledger.record(of: 1)?.offset == 0)
    }

    @Test func `what has failed is not accepted, and what was accepted does not fail`() {
        var ledger = ledger(1...2)
        let answer2 = ledger.failed(1, .expired)
        #expect(answer2 == 10)
        let answer3 = ledger.failed(1, .cancelled)
        #expect(answer3 == nil)
        #expect(ledger.failure(of: 1) == .expired)
        let settled = ledger.accepted(AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1))
        #expect(settled.map(\.counter) == [2])
        let answer4 = ledger.failed(2, .closed)
        #expect(answer4 == nil)
        let answer5 = ledger.failed(3, .closed)
        #expect(answer5 == nil)
    }

    @Test func `the oldest settled messages are forgotten, those that wait are not`() {
        let limit = UInt64(SendLedger.maxRememberedMessages)
        var ledger = SendLedger()
        for counter in 1...(2 * limit) {
            ledger.queue(counter, byteCount: 1)
            if counter.isMultiple(of: 2) {
                _ = ledger.accepted(AcceptedRun(firstCounter: counter, count: 1, firstOffset: counter))
            } else {
                _ = ledger.failed(counter, .expired)
            }
        }
        #expect(ledger.records.count <= SendLedger.maxRememberedMessages + 2)
        #expect(ledger.record(of: 1) == nil)
        #expect(ledger.failure(of: 1) == nil)
        #expect(ledger.record(of: 2 * limit) != nil)
        var waiting = SendLedger()
        for counter in 1...(limit + 10) { waiting.queue(counter, byteCount: 1) }
        #expect(waiting.pendingCount == SendLedger.maxRememberedMessages + 10)
    }

    @Test func `read is delivered, too, and marks only rise`() {
        var ledger = SendLedger()
        let answer6 = ledger.progressed(bob, .read, upTo: 5)
        #expect(answer6)
        let answer7 = ledger.progressed(bob, .delivered, upTo: 5)
        #expect(!answer7)
        let answer8 = ledger.progressed(bob, .read, upTo: 4)
        #expect(!answer8)
        let answer9 = ledger.progressed(bob, .delivered, upTo: 6)
        #expect(answer9)
        #expect(ledger.progress.map(\.delivered) == [6])
        #expect(ledger.progress.map(\.read) == [5])
    }

    @Test func `of too many members the one that is least far is forgotten`() throws {
        var ledger = SendLedger()
        for number in 0...SendLedger.maxMembers {
            let name = try #require(AccountName("member-\(number)"))
            let answer10 = ledger.progressed(name, .delivered, upTo: UInt64(number + 1))
            #expect(answer10)
        }
        #expect(ledger.progress.count == SendLedger.maxMembers)
        #expect(!ledger.progress.contains { $0.delivered == 1 })
    }

    @Test func `every change that an observer could want to know changes the version`() {
        var ledger = ledger(1...2)
        var versions = [ledger.version]
        ledger.sent(1...2)
        versions.append(ledger.version)
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1))
        versions.append(ledger.version)
        _ = ledger.failed(2, .expired)
        versions.append(ledger.version)
        _ = ledger.progressed(bob, .read, upTo: 1)
        versions.append(ledger.version)
        #expect(Set(versions).count == versions.count)
    }
}
