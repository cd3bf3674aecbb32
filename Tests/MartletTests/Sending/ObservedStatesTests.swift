import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite("States of a message for an observer")
struct ObservedStatesTests {
    private let bob = AccountName("bob")
    private let carol = AccountName("carol")

    private func ledger() throws -> MessageLedger {
        var ledger = MessageLedger(maxCount: 10, maxByteCount: 1000)
        try ledger.append(counter: 1, MessageContent(text: "hello"), timeToLive: nil, isCompressible: true)
        return ledger
    }

    private func send(_ ledger: inout MessageLedger) {
        _ = ledger.stored(upTo: 1, now: .zero)
        ledger.handedOver(upTo: 1, now: .zero)
        _ = ledger.reportSent()
    }

    private func accept(_ ledger: inout MessageLedger, at offset: UInt64) {
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: offset))
    }

    private func all(
        _ observed: inout ObservedStates, _ ledger: MessageLedger, of counter: UInt64 = 1
    ) -> [MessageHandle.State] {
        var states: [MessageHandle.State] = []
        while let state = observed.next(counter, in: ledger) { states.append(state) }
        return states
    }

    @Test func `a change of the state and the receipt of each member produce one state each`() throws {
        var ledger = try ledger()
        var observed = ObservedStates()
        #expect(all(&observed, ledger) == [.queued])
        send(&ledger)
        #expect(all(&observed, ledger) == [.sent])
        accept(&ledger, at: 9)
        #expect(all(&observed, ledger) == [.accepted(offset: 9)])
        _ = ledger.progressed(bob, .delivered, upTo: 8)
        #expect(all(&observed, ledger) == [])
        _ = ledger.progressed(bob, .delivered, upTo: 9)
        _ = ledger.progressed(carol, .read, upTo: 20)
        #expect(all(&observed, ledger) == [.delivered(to: bob), .read(by: carol)])
        _ = ledger.progressed(bob, .read, upTo: 9)
        #expect(all(&observed, ledger) == [.read(by: bob)])
        #expect(ObservedStates.furthest(1, in: ledger) == .read(by: bob))
    }

    @Test func `an observer that starts late receives the latest states only`() throws {
        var ledger = try ledger()
        send(&ledger)
        accept(&ledger, at: 9)
        _ = ledger.progressed(bob, .read, upTo: 9)
        var observed = ObservedStates()
        #expect(all(&observed, ledger) == [.accepted(offset: 9), .read(by: bob)])
    }

    @Test func `failed is the last state of a message, and a discarded message has no state`() throws {
        var ledger = try ledger()
        _ = ledger.fail(1, .refused(.roomFull, reason: "full"))
        var observed = ObservedStates()
        #expect(all(&observed, ledger) == [.failed(.refused(.roomFull, reason: "full"))])
        #expect(ObservedStates.furthest(2, in: ledger) == nil)
    }

    @Test func `receipts produce no state of an accepted message with an unknown offset`() throws {
        var ledger = try ledger()
        send(&ledger)
        // Only a message of an earlier session is accepted at an unknown offset.
        ledger.endSession()
        send(&ledger)
        accept(&ledger, at: 0)
        _ = ledger.progressed(bob, .read, upTo: 9)
        var observed = ObservedStates()
        #expect(all(&observed, ledger) == [.accepted(offset: 0)])
    }

    //
    @Test func `a replaced log produces no state of an accepted message`() throws {
        var ledger = try ledger()
        send(&ledger)
        accept(&ledger, at: 9)
        var observed = ObservedStates()
        _ = all(&observed, ledger)
        ledger.discardOffsets()
        _ = ledger.progressed(bob, .read, upTo: 9)
        #expect(all(&observed, ledger) == [])
    }
}
