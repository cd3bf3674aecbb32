import MartletSimulator
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite("The ledger of a room's messages") struct MessageLedgerTests {
    private let bob = AccountName("bob")
    private let hello = MessageContent(text: "hello")

    private func ledger(maxCount: Int = 10_000, maxByteCount: Int = .max) -> MessageLedger {
        MessageLedger(maxCount: maxCount, maxByteCount: maxByteCount)
    }

    /// A ledger with messages that are queued, or that a session has been given.
    private func ledger(_ counters: ClosedRange<UInt64>, areHandedOver: Bool = true) throws -> MessageLedger {
        var ledger = ledger()
        for counter in counters { try append(counter, to: &ledger) }
        store(&ledger)
        if areHandedOver { ledger.handedOver(upTo: counters.upperBound, now: .zero) }
        return ledger
    }

    private func append(
        _ counter: UInt64, _ content: MessageContent? = nil, timeToLive: Duration? = nil, to ledger: inout MessageLedger
    ) throws(ClientError) {
        try ledger.append(counter: counter, content ?? hello, timeToLive: timeToLive, isCompressible: true)
    }

    private func store(_ ledger: inout MessageLedger, now: Instant = .zero) {
        guard let last = ledger.beginStoring().last else { return }
        _ = ledger.stored(upTo: last.counter, now: now)
    }

    // MARK: Bounds

    @Test func `messages up to the bound are appended, and an accepted one makes room`() throws {
        var ledger = ledger(maxCount: 2)
        try append(1, to: &ledger)
        try append(2, to: &ledger)
        #expect(throws: ClientError.queueFull) { try append(3, to: &ledger) }
        store(&ledger)
        ledger.handedOver(upTo: 2, now: .zero)
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1))
        #expect(ledger.pendingCount == 1)
        #expect(ledger.pendingByteCount == hello.byteCount)
        try append(3, to: &ledger)
    }

    @Test func `bytes up to the bound are appended`() throws {
        var ledger = ledger(maxByteCount: 2 * hello.byteCount)
        try append(1, to: &ledger)
        let long = MessageContent(text: "hello hello")
        #expect(!ledger.hasRoom(byteCount: long.byteCount))
        #expect(throws: ClientError.queueFull) { try append(2, long, to: &ledger) }
        try append(2, to: &ledger)
    }

    @Test(arguments: [0, -1]) func `a bound of less than one message counts as one`(bound: Int) throws {
        var ledger = ledger(maxCount: bound)
        try append(1, to: &ledger)
        #expect(throws: ClientError.queueFull) { try append(2, to: &ledger) }
    }

    @Test func `messages of an earlier client are restored beyond the bound`() {
        var ledger = ledger(maxCount: 1)
        for counter in [3, 5, 5, 4] as [UInt64] {
            ledger.restore(counter: counter, hello, timeToLive: nil, isCompressible: true)
        }
        #expect(ledger.pendingCount == 2)
        #expect(ledger.beginStoring().isEmpty)
        _ = ledger.stored(upTo: 5, now: .zero)
        #expect(ledger.unsent(byteCount: 1000).map(\.counter) == [3, 5])
    }

    //
    @Test func `a counter that does not rise is refused`() throws {
        var ledger = try ledger(5...5)
        #expect(throws: ClientError.counterNotRising) { try append(5, to: &ledger) }
        try append(6, to: &ledger)
    }

    // MARK: Storing and sending

    @Test func `a message is sent when it is stored, once for each session`() throws {
        var ledger = ledger()
        try append(1, to: &ledger)
        let stored = ledger.beginStoring().map(\.counter)
        #expect(stored == [1])
        #expect(ledger.unsent(byteCount: 1000).isEmpty)
        _ = ledger.stored(upTo: 1, now: .zero)
        #expect(ledger.unsent(byteCount: 1000).map(\.counter) == [1])
        ledger.handedOver(upTo: 1, now: .zero)
        #expect(ledger.unsent(byteCount: 1000).isEmpty)
        ledger.endSession()
        #expect(ledger.unsent(byteCount: 1000).map(\.counter) == [1])
    }

    @Test func `a new message is withdrawn, a message that is being stored is not`() throws {
        var ledger = ledger()
        try append(1, to: &ledger)
        let isWithdrawn = ledger.withdraw(1)
        #expect(isWithdrawn)
        #expect(ledger.pendingCount == 0)
        try append(2, to: &ledger)
        let storing = ledger.beginStoring().map(\.counter)
        #expect(storing == [2])
        let isTooLate = !ledger.withdraw(2)
        #expect(isTooLate)
    }

    @Test func `a room that ends fails new messages and keeps those that are stored`() throws {
        var ledger = try ledger(1...1, areHandedOver: false)
        try append(2, to: &ledger)
        ledger.failNew()
        #expect(ledger.state(of: 1) == .queued)
        #expect(ledger.state(of: 2) == .failed(.closed))
    }

    @Test func `as many messages are unsent as fill the bytes`() throws {
        let ledger = try ledger(1...10, areHandedOver: false)
        #expect(ledger.unsent(byteCount: 2 * hello.byteCount + 1).map(\.counter) == [1, 2, 3])
        #expect(ledger.unsent(byteCount: 0).isEmpty)
    }

    @Test func `messages that were handed over are reported as sent once`() throws {
        var ledger = try ledger(1...3)
        #expect(ledger.state(of: 3) == .queued)
        let reports = [ledger.reportSent(), ledger.reportSent()]
        #expect(reports == [1...3, nil])
        #expect(ledger.state(of: 3) == .sent)
        ledger.endSession()
        let again = ledger.reportSent()
        #expect(again == nil)
    }

    //
    @Test func `a message can be cancelled until it was handed over`() throws {
        var ledger = try ledger(1...2, areHandedOver: false)
        ledger.handedOver(upTo: 1, now: .zero)
        ledger.endSession()
        let answers = [ledger.cancel(1), ledger.cancel(2), ledger.cancel(2), ledger.cancel(9)]
        #expect(answers == [false, true, false, false])
        #expect(ledger.unsent(byteCount: 1000).map(\.counter) == [1])
    }

    //
    @Test func `a time to live begins when the message is stored, and ends only before it is handed over`() throws {
        var ledger = ledger()
        try append(1, timeToLive: .seconds(5), to: &ledger)
        try append(2, timeToLive: .seconds(3), to: &ledger)
        try append(3, to: &ledger)
        store(&ledger, now: .zero + .seconds(10))
        #expect(ledger.earliestExpiry == .zero + .seconds(13))
        ledger.handedOver(upTo: 1, now: .zero)
        let expired = ledger.expire(now: .zero + .seconds(20))
        #expect(expired == [2])
        #expect(ledger.earliestExpiry == nil)
    }

    // MARK: Outcomes

    @Test func `a run accepts each message once, at its offset`() throws {
        var ledger = try ledger(1...5)
        let first = ledger.accepted(AcceptedRun(firstCounter: 2, count: 2, firstOffset: 7))
        #expect(first == [AcceptedRun(firstCounter: 2, count: 2, firstOffset: 7)])
        let again = ledger.accepted(AcceptedRun(firstCounter: 1, count: 5, firstOffset: 6))
        #expect(
            again == [
                AcceptedRun(firstCounter: 1, count: 1, firstOffset: 6),
                AcceptedRun(firstCounter: 4, count: 2, firstOffset: 9),
            ])
        #expect((1...5).map { ledger.state(of: $0) } == (6...10).map { .accepted(offset: $0) })
        #expect(ledger.pendingCount == 0)
    }

    @Test func `a run that names every counter accepts the messages that were handed over`() throws {
        var ledger = try ledger(5...6)
        try append(7, to: &ledger)
        store(&ledger)
        let parts = ledger.accepted(AcceptedRun(firstCounter: 1, count: .max, firstOffset: 1))
        #expect(parts.map(\.counters) == [5...6])
        #expect(ledger.state(of: 7) == .queued)
    }

    @Test func `a message of an earlier session that was accepted at an unknown offset has none`() throws {
        var ledger = try ledger(1...1)
        ledger.endSession()
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 0))
        #expect(ledger.state(of: 1) == .accepted(offset: 0))
    }

    @Test func `a failed message is not accepted, and an accepted message does not fail`() throws {
        var ledger = try ledger(1...2)
        let failures = [ledger.fail(1, .expired), ledger.fail(1, .cancelled), ledger.fail(3, .closed)]
        #expect(failures == [true, false, false])
        let parts = ledger.accepted(AcceptedRun(firstCounter: 1, count: 2, firstOffset: 1))
        #expect(parts.map(\.counters) == [2...2])
        let rest = ledger.failAll(.closed, isOpen: true)
        #expect(rest.isEmpty)
        #expect(ledger.state(of: 1) == .failed(.expired))
    }

    // C-74
    @Test(arguments: [true, false])
    func `a room that was open, or was not, is refused → the outcome of published messages is unknown, or a refusal`(
        _ isOpen: Bool
    ) throws {
        var ledger = try ledger(1...2)
        try append(3, to: &ledger)
        let refused = SendFailure.refused(.roomForbidden, reason: nil)
        let failures = ledger.failAll(refused, isOpen: isOpen)
        #expect(failures.map(\.counter) == [1, 2, 3])
        let published = isOpen ? SendFailure.outcomeUnknown : refused
        #expect(failures.map(\.failure) == [published, published, refused])
    }

    @Test func `a refusal of a message that was not sent is ignored`() throws {
        var ledger = try ledger(1...1, areHandedOver: false)
        let isRefused = ledger.refuse(1, .refused(.forbidden, reason: nil))
        #expect(!isRefused)
    }

    @Test func `the oldest settled messages are discarded, pending ones are not`() throws {
        let limit = UInt64(MessageLedger.maxSettledCount)
        var ledger = ledger()
        for counter in 1...(2 * limit) {
            try append(counter, to: &ledger)
            store(&ledger)
            ledger.handedOver(upTo: counter, now: .zero)
            if counter.isMultiple(of: 2) {
                _ = ledger.accepted(AcceptedRun(firstCounter: counter, count: 1, firstOffset: counter))
            } else {
                _ = ledger.fail(counter, .expired)
            }
        }
        #expect(ledger.count == MessageLedger.maxSettledCount)
        #expect(ledger.state(of: limit) == nil)
        #expect(ledger.state(of: limit + 1) == .failed(.expired))
        let pending = try self.ledger(1...(limit + 10))
        #expect(pending.pendingCount == MessageLedger.maxSettledCount + 10)
    }

    // MARK: Receipts

    @Test func `a read message is delivered, and receipts only rise`() {
        var ledger = ledger()
        let changes = [
            ledger.progressed(bob, .read, upTo: 5), ledger.progressed(bob, .delivered, upTo: 5),
            ledger.progressed(bob, .read, upTo: 4), ledger.progressed(bob, .delivered, upTo: 6),
        ]
        #expect(changes == [true, false, false, true])
        #expect(ledger.progress.map(\.delivered) == [6])
        #expect(ledger.progress.map(\.read) == [5])
    }

    @Test func `of too many members the one with the lowest receipt is discarded`() throws {
        var ledger = ledger()
        for number in 0...MemberMarks.maxCount {
            let name = try #require(AccountName("member-\(number)"))
            _ = ledger.progressed(name, .delivered, upTo: UInt64(number + 1))
        }
        #expect(ledger.progress.count == MemberMarks.maxCount)
        #expect(!ledger.progress.contains { $0.delivered == 1 })
    }

    //
    @Test func `a log that is replaced discards offsets and receipts`() throws {
        var ledger = try ledger(1...1)
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 3))
        _ = ledger.progressed(bob, .read, upTo: 3)
        ledger.discardOffsets()
        #expect(ledger.state(of: 1) == .accepted(offset: 0))
        #expect(ledger.progress.isEmpty)
    }

    //
    @Test func `a log that branches discards the offsets behind the branch`() throws {
        var ledger = try ledger(1...2)
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 2, firstOffset: 3))
        ledger.discardOffsets(above: 3)
        #expect(ledger.state(of: 1) == .accepted(offset: 3))
        #expect(ledger.state(of: 2) == .accepted(offset: 0))
    }

    @Test func `every change of a message changes the version`() throws {
        var ledger = try ledger(1...3)
        var versions = [ledger.version]
        _ = ledger.reportSent()
        versions.append(ledger.version)
        _ = ledger.accepted(AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1))
        versions.append(ledger.version)
        _ = ledger.fail(2, .expired)
        versions.append(ledger.version)
        _ = ledger.progressed(bob, .read, upTo: 1)
        versions.append(ledger.version)
        ledger.discardOffsets()
        versions.append(ledger.version)
        #expect(Set(versions).count == versions.count)
    }

    @Test func `messages that settle behind a pending one are bounded, until that one settles`() throws {
        var ledger = ledger(maxCount: 2)
        var counter: UInt64 = 1
        try append(counter, to: &ledger)
        while ledger.hasRoom(byteCount: 1) {
            counter += 1
            try append(counter, to: &ledger)
            _ = ledger.withdraw(counter)
        }
        #expect(ledger.count == MessageLedger.maxSettledCount + 2)
        _ = ledger.withdraw(1)
        #expect(ledger.hasRoom(byteCount: 1) && ledger.count == MessageLedger.maxSettledCount)
    }

    // MARK: Durable messages

    // C-75
    @Test func `stored messages that are not released → expired but not sent, until they are released`() throws {
        var ledger = ledger()
        try append(1, to: &ledger)
        try append(2, timeToLive: .seconds(1), to: &ledger)
        try append(3, timeToLive: .seconds(9), to: &ledger)
        let stored = ledger.beginStoring().count
        let expires = ledger.stored(upTo: 3, releasedUpTo: 1, now: .zero)
        #expect(stored == 3 && expires)
        #expect(ledger.unsent(byteCount: .max).map(\.counter) == [1])
        let expired = ledger.expire(now: .zero + .seconds(1))
        #expect(expired == [2])
        _ = ledger.stored(upTo: 0, releasedUpTo: 9, now: .zero)
        #expect(ledger.unsent(byteCount: .max).map(\.counter) == [1, 3])
    }

    // C-76, R-27
    @Test func `a restored message that may have been sent → neither cancelled, edited nor expired`() {
        var ledger = ledger()
        ledger.restore(counter: 1, hello, timeToLive: .zero, isCompressible: true, resendableUntil: .distantFuture)
        ledger.restore(counter: 2, hello, timeToLive: nil, isCompressible: true)
        _ = ledger.stored(upTo: 2, now: .zero)
        let isCancelled = ledger.cancel(1)
        let edited = ledger.edit(1, MessageContent(text: "no"))
        let expired = ledger.expire(now: .zero + .seconds(1))
        #expect(!isCancelled && edited == nil && expired == [])
        #expect(ledger.unsent(byteCount: .max).map(\.counter) == [1, 2])
    }

    //
    @Test func `a new message accepted at 0 or up to the head → pending, with a reused counter`() throws {
        var ledger = try ledger(1...4)
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
    @Test func `a message of an earlier session or client, accepted up to the head → accepted`() throws {
        var ledger = ledger()
        ledger.restore(counter: 1, hello, timeToLive: nil, isCompressible: true, resendableUntil: .distantFuture)
        ledger.restore(counter: 2, hello, timeToLive: nil, isCompressible: true)
        try append(3, to: &ledger)
        store(&ledger)
        ledger.handedOver(upTo: 3, now: .zero)
        ledger.endSession()
        let run = AcceptedRun(firstCounter: 1, count: 3, firstOffset: 5)
        let parts = ledger.accepted(run, head: 7)
        #expect(parts == [run] && !ledger.hasReused)
    }

    //
    @Test func `a counter of another copy of the device far above pending messages → their answers are ignored`() {
        var ledger = ledger()
        ledger.restore(counter: 1, hello, timeToLive: nil, isCompressible: true, resendableUntil: .distantFuture)
        ledger.restore(counter: 2, hello, timeToLive: nil, isCompressible: true)
        ledger.restore(counter: 60, hello, timeToLive: nil, isCompressible: true)
        _ = ledger.stored(upTo: 60, now: .zero)
        ledger.handedOver(upTo: 60, now: .zero)
        ledger.endSession()
        let answers = [1, 60, 65, 66].map { ledger.isSetBack(below: $0) }
        #expect(answers == [false, false, false, true] && ledger.hasReused)
        let parts = ledger.accepted(AcceptedRun(firstCounter: 1, count: 60, firstOffset: 5), head: 70)
        #expect(parts.flatMap(\.counters) == [1, 60])
        let isRefused = ledger.refuse(2, .refused(.counterTooOld, reason: nil))
        #expect(!isRefused)
        ledger.replaceDevice()
        #expect(ledger.pendingCounters == [2] && !ledger.hasReused)
    }

    // R-21, C-80
    @Test func `a message of an earlier session whose window has ended → outcomeUnknown, also a restored one`() throws {
        let end = Instant.zero + (ResendWindow.lifetime - ResendWindow.margin)
        var resumed = try ledger(1...2)
        resumed.endSession()
        let early = resumed.failOutdated(now: Instant(nanoseconds: end.nanoseconds - 1))
        let unsent = resumed.unsent(byteCount: .max).map(\.counter)
        #expect(early == [] && unsent == [1, 2])
        var ledger = try ledger(1...2)
        let inSession = ledger.failOutdated(now: end)
        ledger.endSession()
        let late = ledger.failOutdated(now: end)
        #expect(inSession == [] && late == [1, 2])
        #expect(ledger.state(of: 1) == .failed(.outcomeUnknown))
        ledger.restore(counter: 3, hello, timeToLive: nil, isCompressible: true, resendableUntil: .zero)
        ledger.restore(counter: 4, hello, timeToLive: nil, isCompressible: true)
        let restored = ledger.failOutdated(now: end)
        #expect(restored == [3])
    }

    //
    @Test func `an edit of a queued message → the new content, until it is handed over`() throws {
        var ledger = try ledger(1...2, areHandedOver: false)
        let long = MessageContent(text: "hello hello")
        let earlier = ledger.edit(2, long)
        #expect(earlier == hello)
        #expect(ledger.pendingByteCount == hello.byteCount + long.byteCount)
        #expect(ledger.unsent(byteCount: .max).map(\.content) == [hello, long])
        ledger.handedOver(upTo: 2, now: .zero)
        let late = ledger.edit(2, hello)
        let unknown = ledger.edit(3, hello)
        #expect(late == nil && unknown == nil)
    }

    @Test func `restored outcomes → the states of the messages, and only the others are pending`() {
        var ledger = ledger()
        ledger.restore(counter: 1, acceptedAt: 7)
        ledger.restore(counter: 2, hello, timeToLive: nil, isCompressible: true)
        ledger.restore(counter: 3, failedWith: .expired)
        let isRestored = ledger.restore(counter: 3, acceptedAt: 8)
        #expect(!isRestored)
        #expect(ledger.state(of: 1) == .accepted(offset: 7) && ledger.state(of: 3) == .failed(.expired))
        #expect(ledger.pendingCounters == [2])
    }
}
