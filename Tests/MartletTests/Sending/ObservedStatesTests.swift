import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite("States of a message for an observer")
struct ObservedStatesTests {
    private let bob = AccountName("bob")
    private let carol = AccountName("carol")

    private func message() -> OutgoingMessages {
        var messages = OutgoingMessages(maxCount: 10, maxByteCount: 1000)
        messages.append(MessageLedger.Pending(counter: 1, MessageContent(text: "hello")))
        return messages
    }

    private func accept(_ messages: inout OutgoingMessages, at offset: UInt64) {
        messages.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: offset))
    }

    private func all(
        _ observed: inout ObservedStates, _ messages: OutgoingMessages, of counter: UInt64 = 1
    ) -> [MessageHandle.State] {
        var states: [MessageHandle.State] = []
        while let state = observed.next(counter, in: messages) { states.append(state) }
        return states
    }

    @Test func `a change of the state and the receipt of each member produce one state each`() {
        var messages = message()
        var observed = ObservedStates()
        #expect(all(&observed, messages) == [.queued])
        messages.sent(upTo: 1)
        #expect(all(&observed, messages) == [.sent])
        accept(&messages, at: 9)
        #expect(all(&observed, messages) == [.accepted(offset: 9)])
        messages.progressed(bob, .delivered, upTo: 8)
        #expect(all(&observed, messages) == [])
        messages.progressed(bob, .delivered, upTo: 9)
        messages.progressed(carol, .read, upTo: 20)
        #expect(all(&observed, messages) == [.delivered(to: bob), .read(by: carol)])
        messages.progressed(bob, .read, upTo: 9)
        #expect(all(&observed, messages) == [.read(by: bob)])
        #expect(ObservedStates.furthest(1, in: messages) == .read(by: bob))
    }

    @Test func `an observer that starts late receives the latest states only`() {
        var messages = message()
        messages.sent(upTo: 1)
        accept(&messages, at: 9)
        messages.progressed(bob, .read, upTo: 9)
        var observed = ObservedStates()
        #expect(all(&observed, messages) == [.accepted(offset: 9), .read(by: bob)])
    }

    @Test func `failed is the last state of a message, and a discarded message has no state`() {
        var messages = message()
        messages.fail(1, .refused(.roomFull, reason: "full"))
        var observed = ObservedStates()
        #expect(all(&observed, messages) == [.failed(.refused(.roomFull, reason: "full"))])
        #expect(ObservedStates.furthest(2, in: messages) == nil)
    }

    @Test func `receipts produce no state of an accepted message with an unknown offset`() {
        var messages = message()
        messages.sent(upTo: 1)
        accept(&messages, at: 0)
        messages.progressed(bob, .read, upTo: 9)
        var observed = ObservedStates()
        #expect(all(&observed, messages) == [.accepted(offset: 0)])
    }

    //
    @Test func `a replaced log produces no state of an accepted message`() {
        var messages = message()
        messages.sent(upTo: 1)
        accept(&messages, at: 9)
        var observed = ObservedStates()
        _ = all(&observed, messages)
        messages.discardOffsets(above: 0)
        messages.progressed(bob, .read, upTo: 9)
        #expect(all(&observed, messages) == [])
    }
}
