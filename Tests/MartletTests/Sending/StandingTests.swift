import MartletProtocol
import MartletWire
import Testing

@testable import Martlet

@Suite("What an observer of a message is told")
struct StandingTests {
    private let bob = AccountName("bob")!
    private let carol = AccountName("carol")!

    private func all(_ standing: inout Standing, _ ledger: SendLedger, of counter: UInt64 = 1) -> [Sending.State] {
        var states: [Sending.State] = []
        while let state = standing.next(counter, in: ledger) { states.append(state) }
        return states
    }

    @Test func `each state as it comes, and each member's progress`() {
        var ledger = SendLedger()
        var standing = Standing()
        ledger.queue(1, byteCount: 1)
        #expect(all(&standing, ledger) == [.queued])
        ledger.sent(1...1)
        #expect(all(&standing, ledger) == [.sent])
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 9))
        #expect(all(&standing, ledger) == [.accepted(offset: 9)])
        _ = ledger.progressed(bob, .delivered, upTo: 8)
        #expect(all(&standing, ledger) == [])
        _ = ledger.progressed(bob, .delivered, upTo: 9)
        _ = ledger.progressed(carol, .read, upTo: 20)
        #expect(all(&standing, ledger) == [.delivered(to: bob), .read(by: carol)])
        _ = ledger.progressed(bob, .read, upTo: 9)
        #expect(all(&standing, ledger) == [.read(by: bob)])
        #expect(Standing.furthest(1, in: ledger) == .read(by: bob))
    }

    @Test func `who looks late sees the latest only`() {
        var ledger = SendLedger()
        ledger.queue(1, byteCount: 1)
        ledger.sent(1...1)
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 9))
        _ = ledger.progressed(bob, .read, upTo: 9)
        var standing = Standing()
        #expect(all(&standing, ledger) == [.accepted(offset: 9), .read(by: bob)])
    }

    @Test func `failed is the last, and a forgotten message has no state`() {
        var ledger = SendLedger()
        ledger.queue(1, byteCount: 1)
        _ = ledger.failed(1, .refused(.roomFull, reason: "full"))
        var standing = Standing()
        #expect(all(&standing, ledger) == [.failed(.refused(.roomFull, reason: "full"))])
        #expect(Standing.furthest(2, in: ledger) == nil)
    }

    @Test func `where the offset is unknown nobody's progress is told`() {
        var ledger = SendLedger()
        ledger.queue(1, byteCount: 1)
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 0))
        _ = ledger.progressed(bob, .read, upTo: 9)
        var standing = Standing()
        #expect(all(&standing, ledger) == [.accepted(offset: 0)])
    }
}
