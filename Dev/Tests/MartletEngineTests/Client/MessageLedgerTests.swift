import MartletMetrics
import MartletSimulator
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite("The ledger of a room's messages") struct MessageLedgerTests {
    private let hello = MessageContent(text: "hello")

    /// A ledger with messages that are queued, or that a session has been given.
    private func ledger(_ counters: ClosedRange<UInt64>, areHandedOver: Bool = true) -> MessageLedger {
        var ledger = MessageLedger()
        for counter in counters { add(counter, to: &ledger) }
        if areHandedOver { ledger.handedOver(upTo: counters.upperBound, now: .zero) }
        return ledger
    }

    /// Adds a message that may be sent.
    private func add(
        _ counter: UInt64, timeToLive: Duration? = nil, to ledger: inout MessageLedger, now: Instant = .zero
    ) {
        _ = ledger.add(MessageLedger.Pending(counter: counter, hello, timeToLive: timeToLive), now: now)
        ledger.release(upTo: counter)
    }

    /// Restores a message that may be sent.
    private func restore(
        _ counter: UInt64, timeToLive: Duration? = nil, isInFlight: Bool = false, to ledger: inout MessageLedger,
        now: Instant = .zero
    ) {
        let message = MessageLedger.Pending(counter: counter, hello, timeToLive: timeToLive)
        ledger.restore(.pending(message, isInFlight: isInFlight), now: now)
        ledger.release(upTo: counter)
    }

    private func unsent(_ ledger: MessageLedger) -> [UInt64] { ledger.unsent(byteCount: .max).map(\.counter) }

    // MARK: Durations

    @Test func `the first receipt of an accepted message → its duration once, until the end of the session`() {
        var ledger = ledger(1...4)
        var (acceptances, deliveries) = (Histogram(), Histogram())
        let run = AcceptedRun(firstCounter: 1, count: 3, firstOffset: 7)
        _ = ledger.accepted(run, now: .zero + .seconds(1), &acceptances)
        ledger.delivered(upTo: 6, now: .zero + .seconds(2), &deliveries)
        #expect(deliveries.count == 0)
        for seconds in [3, 4] as [Int64] {
            ledger.delivered(upTo: 8, now: .zero + .seconds(seconds), &deliveries)
            #expect(deliveries.count == 2)
        }
        #expect((2.9..<3.5).contains(deliveries.quantile(1)?.inSeconds ?? 0))
        ledger.endSession()
        ledger.delivered(upTo: 9, now: .zero + .seconds(5), &deliveries)
        #expect(deliveries.count == 2)
    }

    @Test func `more accepted messages without a receipt than the bound → durations of the latest ones`() {
        let count = UInt64(MessageLedger.maxUndeliveredCount) + 10
        var ledger = ledger(1...count)
        var (acceptances, deliveries) = (Histogram(), Histogram())
        _ = ledger.accepted(
            AcceptedRun(firstCounter: 1, count: UInt32(count), firstOffset: 1), now: .zero, &acceptances)
        ledger.delivered(upTo: 10, now: .zero, &deliveries)
        #expect(deliveries.count == 0)
        ledger.delivered(upTo: count, now: .zero, &deliveries)
        #expect(deliveries.count == MessageLedger.maxUndeliveredCount)
    }

    // MARK: Adding

    @Test func `restored messages in any order → those whose counters rise`() {
        var ledger = MessageLedger()
        for counter in [3, 5, 5, 4] as [UInt64] { restore(counter, to: &ledger) }
        #expect(ledger.pendingCount == 2)
        #expect(unsent(ledger) == [3, 5])
    }

    //
    @Test func `a counter that does not rise is refused`() {
        var ledger = ledger(5...5)
        let added = [4, 5, 6, 6].map { ledger.add(MessageLedger.Pending(counter: $0, hello), now: .zero) }
        #expect(added == [false, false, true, false] && ledger.pendingCounters == [5, 6] && ledger.pendingCount == 2)
    }

    @Test func `accepted messages → the duration of each since it was stored, and none when they are accepted again`() {
        var ledger = MessageLedger()
        for counter in 1...3 as ClosedRange<UInt64> { add(counter, to: &ledger, now: .zero + .seconds(Int64(counter))) }
        ledger.handedOver(upTo: 3, now: .zero + .seconds(4))
        var durations = Histogram()
        for _ in 0..<2 {
            let run = AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1)
            _ = ledger.accepted(run, head: 0, now: .zero + .seconds(5), &durations)
        }
        #expect(durations.count == 2)
        #expect((durations.sum, durations.max) == (.seconds(7), .seconds(4)))
    }

    // MARK: Storing and sending

    @Test func `a message is sent when it is stored, once for each session`() {
        var ledger = MessageLedger()
        #expect(ledger.unsent(byteCount: 1000).isEmpty)
        add(1, to: &ledger)
        #expect(ledger.unsent(byteCount: 1000).map(\.counter) == [1])
        ledger.handedOver(upTo: 1, now: .zero)
        #expect(ledger.unsent(byteCount: 1000).isEmpty)
        ledger.endSession()
        #expect(ledger.unsent(byteCount: 1000).map(\.counter) == [1])
    }

    @Test func `as many messages are unsent as fill the bytes`() {
        let ledger = ledger(1...10, areHandedOver: false)
        #expect(ledger.unsent(byteCount: 2 * hello.byteCount + 1).map(\.counter) == [1, 2, 3])
        #expect(ledger.unsent(byteCount: 0).isEmpty)
    }

    @Test func `messages that were handed over are reported as sent once`() {
        var ledger = ledger(1...3)
        let reports = [ledger.reportSent(), ledger.reportSent()]
        #expect(reports == [1...3, nil])
        ledger.endSession()
        let again = ledger.reportSent()
        #expect(again == nil)
    }

    //
    @Test func `a message can be cancelled until it was handed over`() {
        var ledger = ledger(1...2, areHandedOver: false)
        ledger.handedOver(upTo: 1, now: .zero)
        ledger.endSession()
        let answers = [ledger.cancel(1), ledger.cancel(2), ledger.cancel(2), ledger.cancel(9)]
        #expect(answers == [false, true, false, false])
        #expect(ledger.unsent(byteCount: 1000).map(\.counter) == [1])
    }

    //
    @Test func `a time to live begins when the message is stored, and ends only before it is handed over`() {
        var ledger = MessageLedger()
        let now = Instant.zero + .seconds(10)
        add(1, timeToLive: .seconds(5), to: &ledger, now: now)
        add(2, timeToLive: .seconds(3), to: &ledger, now: now)
        add(3, to: &ledger, now: now)
        #expect(ledger.earliestExpiry == .zero + .seconds(13))
        ledger.handedOver(upTo: 1, now: .zero)
        let expired = ledger.expire(now: .zero + .seconds(20))
        #expect(expired == [2])
        #expect(ledger.earliestExpiry == nil)
    }

    // MARK: Outcomes

    @Test func `a run accepts each message once, at its offset`() {
        var ledger = ledger(1...5)
        let first = ledger.accepted(AcceptedRun(firstCounter: 2, count: 2, firstOffset: 7))
        #expect(first == [AcceptedRun(firstCounter: 2, count: 2, firstOffset: 7)])
        let again = ledger.accepted(AcceptedRun(firstCounter: 1, count: 5, firstOffset: 6))
        #expect(
            again == [
                AcceptedRun(firstCounter: 1, count: 1, firstOffset: 6),
                AcceptedRun(firstCounter: 4, count: 2, firstOffset: 9),
            ])
        #expect(ledger.pendingCount == 0)
    }

    @Test func `a run that names every counter accepts the messages that were handed over`() {
        var ledger = ledger(5...6)
        add(7, to: &ledger)
        let parts = ledger.accepted(AcceptedRun(firstCounter: 1, count: .max, firstOffset: 1))
        #expect(parts.map(\.counters) == [5...6])
        #expect(ledger.pendingCounters == [7])
    }

    @Test func `a message of an earlier session that was accepted at an unknown offset has none`() {
        var ledger = ledger(1...1)
        ledger.endSession()
        let run = AcceptedRun(firstCounter: 1, count: 1, firstOffset: 0)
        let parts = ledger.accepted(run)
        #expect(parts == [run] && ledger.pendingCount == 0)
    }

    @Test func `a failed message is not accepted, and an accepted message does not fail`() {
        var ledger = ledger(1...2)
        let failures = [ledger.fail(1), ledger.fail(1), ledger.fail(3)]
        #expect(failures == [true, false, false])
        let parts = ledger.accepted(AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1))
        #expect(parts.map(\.counters) == [2...2])
        let rest = ledger.failAll(.closed, isOpen: true)
        #expect(rest.isEmpty && ledger.pendingCount == 0)
    }

    // C-74
    @Test(arguments: [true, false])
    func `a room that was open, or was not, is refused → the outcome of published messages is unknown, or a refusal`(
        _ isOpen: Bool
    ) {
        var ledger = ledger(1...2)
        add(3, to: &ledger)
        let refused = SendFailure.refused(.roomForbidden, reason: nil)
        let failures = ledger.failAll(refused, isOpen: isOpen)
        #expect(failures.map(\.counter) == [1, 2, 3])
        let published = isOpen ? SendFailure.outcomeUnknown : refused
        #expect(failures.map(\.failure) == [published, published, refused])
    }

    @Test func `a refusal of a message that was not sent is ignored`() {
        var ledger = ledger(1...1, areHandedOver: false)
        let isRefused = ledger.refuse(1)
        #expect(!isRefused)
    }

    @Test func `counters of settled messages behind a pending one, and of settled ones → known until it settles`() {
        var ledger = ledger(1...200)
        for counter in 2...200 as ClosedRange<UInt64> { _ = ledger.fail(counter) }
        ledger.restore(.settled(counter: 300), now: .zero)
        let known = [2, 200, 300].map { ledger.isSetBack(below: $0) }
        #expect(known == [false, false, false] && !ledger.hasReused && heldCount(in: ledger) >= 201)
        let other = ledger.isSetBack(below: 299)
        #expect(other && ledger.hasReused)
        _ = ledger.fail(1)
        #expect(heldCount(in: ledger) == 0 && ledger.pendingCount == 0)
        ledger.restore(.settled(counter: 400), now: .zero)
        let added = [400, 401].map { ledger.add(MessageLedger.Pending(counter: $0, hello), now: .zero) }
        #expect(added == [false, true] && ledger.pendingCounters == [401])
    }

    // MARK: Durable messages

    // C-75
    @Test func `stored messages that are not released → expired but not sent, until they are released`() {
        var ledger = MessageLedger()
        for (counter, timeToLive) in [(1, nil), (2, .seconds(1)), (3, .seconds(9))] as [(UInt64, Duration?)] {
            _ = ledger.add(MessageLedger.Pending(counter: counter, hello, timeToLive: timeToLive), now: .zero)
        }
        ledger.release(upTo: 1)
        #expect(unsent(ledger) == [1] && ledger.earliestExpiry == .zero + .seconds(1))
        let expired = ledger.expire(now: .zero + .seconds(1))
        #expect(expired == [2])
        ledger.release(upTo: 9)
        #expect(unsent(ledger) == [1, 3])
        _ = ledger.add(MessageLedger.Pending(counter: 5, hello), now: .zero)
        #expect(unsent(ledger) == [1, 3])
    }

    // C-76, R-27
    @Test func `a restored message that may have been sent → neither cancelled, edited nor expired`() {
        var ledger = MessageLedger()
        restore(1, timeToLive: .zero, isInFlight: true, to: &ledger)
        restore(2, to: &ledger)
        let isCancelled = ledger.cancel(1)
        let isEdited = ledger.edit(1, MessageContent(text: "no"))
        let expired = ledger.expire(now: .zero + .seconds(1))
        #expect(!isCancelled && !isEdited && expired == [])
        #expect(ledger.unsent(byteCount: .max).map(\.counter) == [1, 2])
    }

    //
    @Test func `a new message accepted at 0 or up to the head → pending, with a reused counter`() {
        var ledger = ledger(1...4)
        let unknown = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 0), head: 7)
        let earlier = ledger.accepted(AcceptedRun(firstCounter: 2, count: 1, firstOffset: 7), head: 7)
        #expect(unknown == [] && earlier == [] && ledger.hasReused && ledger.awaitsAnswers)
        let run = AcceptedRun(firstCounter: 3, count: 1, firstOffset: 8)
        let later = ledger.accepted(run, head: 7)
        let isNoted = ledger.noteReused(4)
        #expect(later == [run] && isNoted && !ledger.awaitsAnswers && ledger.pendingCounters == [1, 2, 4])
        ledger.replaceDevice()
        #expect(!ledger.hasReused && ledger.unsent(byteCount: .max).map(\.counter) == [1, 2, 4])
        #expect(ledger.unsent(byteCount: .max, onlyHandedOver: true).isEmpty)
    }

    //
    @Test func `a message of an earlier session or client, accepted up to the head → accepted`() {
        var ledger = MessageLedger()
        restore(1, isInFlight: true, to: &ledger)
        restore(2, to: &ledger)
        add(3, to: &ledger)
        ledger.handedOver(upTo: 3, now: .zero)
        ledger.endSession()
        let run = AcceptedRun(firstCounter: 1, count: 3, firstOffset: 5)
        let parts = ledger.accepted(run, head: 7)
        #expect(parts == [run] && !ledger.hasReused)
    }

    //
    @Test func `a counter of another copy of the device far above pending messages → their answers are ignored`() {
        var ledger = MessageLedger()
        restore(1, isInFlight: true, to: &ledger)
        restore(2, to: &ledger)
        restore(60, to: &ledger)
        ledger.handedOver(upTo: 60, now: .zero)
        ledger.endSession()
        let answers = [1, 60, 65, 66].map { ledger.isSetBack(below: $0) }
        #expect(answers == [false, false, false, true] && ledger.hasReused)
        let parts = ledger.accepted(AcceptedRun(firstCounter: 1, count: 60, firstOffset: 5), head: 70)
        #expect(parts.flatMap(\.counters) == [1, 60])
        let isRefused = ledger.refuse(2)
        #expect(!isRefused)
        ledger.replaceDevice()
        #expect(ledger.pendingCounters == [2] && !ledger.hasReused)
    }

    // R-21, C-80
    @Test func `a message of an earlier session whose window has ended → outcomeUnknown, also a restored one`() {
        let end = Instant.zero + (ResendWindow.lifetime - ResendWindow.margin)
        var resumed = ledger(1...2)
        resumed.endSession()
        let early = resumed.failOutdated(now: Instant(nanoseconds: end.nanoseconds - 1))
        let unsent = resumed.unsent(byteCount: .max).map(\.counter)
        #expect(early == [] && unsent == [1, 2])
        var ledger = ledger(1...2)
        let inSession = ledger.failOutdated(now: end)
        ledger.endSession()
        let late = ledger.failOutdated(now: end)
        #expect(inSession == [] && late == [1, 2])
        restore(3, isInFlight: true, to: &ledger)
        restore(4, to: &ledger)
        let restored = ledger.failOutdated(now: end)
        #expect(restored == [3])
    }

    //
    @Test func `an edit of a queued message → the new content, until it is handed over`() {
        var ledger = ledger(1...2, areHandedOver: false)
        let long = MessageContent(text: "hello hello")
        let isEdited = ledger.edit(2, long)
        #expect(isEdited)
        #expect(ledger.unsent(byteCount: .max).map(\.content) == [hello, long])
        ledger.handedOver(upTo: 2, now: .zero)
        let late = ledger.edit(2, hello)
        let unknown = ledger.edit(3, hello)
        #expect(!late && !unknown)
    }
}

extension MessageLedger {
    /// Reports a run, whose durations are not checked.
    fileprivate mutating func accepted(_ run: AcceptedRun, head: UInt64 = 0) -> [AcceptedRun] {
        var durations = Histogram()
        return accepted(run, head: head, now: .zero, &durations)
    }
}
