import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite("The messages of an application in a room")
struct OutgoingMessagesTests {
    private let bob = AccountName("bob")
    private let hello = MessageContent(text: "hello")

    private func messages(maxCount: Int = 10_000, maxByteCount: Int = .max) -> OutgoingMessages {
        OutgoingMessages(maxCount: maxCount, maxByteCount: maxByteCount)
    }

    /// Messages that are stored.
    private func messages(_ counters: ClosedRange<UInt64>) -> OutgoingMessages {
        var messages = messages()
        for counter in counters { append(counter, to: &messages) }
        store(&messages)
        return messages
    }

    private func append(_ counter: UInt64, _ content: MessageContent? = nil, to messages: inout OutgoingMessages) {
        messages.append(MessageLedger.Pending(counter: counter, content ?? hello))
    }

    private func store(_ messages: inout OutgoingMessages) {
        _ = messages.stored(messages.beginStoring().map(\.counter))
    }

    private func run(_ counters: ClosedRange<UInt64>, at offset: UInt64) -> AcceptedRun {
        AcceptedRun(firstCounter: counters.lowerBound, count: UInt32(counters.count), firstOffset: offset)
    }

    // MARK: Bounds

    @Test func `messages up to the bound have room, and an accepted one makes room`() {
        var messages = messages(maxCount: 2)
        append(1, to: &messages)
        #expect(messages.hasRoom(byteCount: 1) && messages.hasRoom(byteCounts: [1]))
        append(2, to: &messages)
        #expect(!messages.hasRoom(byteCount: 1) && !messages.hasRoom(byteCounts: [1]))
        store(&messages)
        messages.accepted(run(1...1, at: 1))
        #expect(messages.pendingCount == 1)
        #expect(messages.pendingByteCount == hello.byteCount)
        #expect(messages.hasRoom(byteCount: 1) && !messages.hasRoom(byteCounts: [1, 1]))
    }

    @Test func `contents up to the bound of bytes have room`() {
        var messages = messages(maxByteCount: 2 * hello.byteCount)
        append(1, to: &messages)
        #expect(messages.hasRoom(byteCount: hello.byteCount) && !messages.hasRoom(byteCount: hello.byteCount + 1))
        #expect(messages.hasRoom(byteCounts: [1, hello.byteCount - 1]))
        #expect(!messages.hasRoom(byteCounts: [1, hello.byteCount]))
    }

    @Test(arguments: [0, -1]) func `a bound of less than one message counts as one`(bound: Int) {
        var messages = messages(maxCount: bound)
        #expect(messages.hasRoom(byteCount: 1))
        append(1, to: &messages)
        #expect(!messages.hasRoom(byteCount: 1))
    }

    @Test func `messages that were admitted together, without pending ones → beyond the bounds`() {
        var messages = messages(maxCount: 1, maxByteCount: 1)
        #expect(messages.hasRoom(byteCounts: [5, 5]))
        append(1, to: &messages)
        append(2, to: &messages)
        #expect(messages.pendingCount == 2)
    }

    @Test func `messages of an earlier client are restored beyond the bound, and are stored`() {
        var messages = messages(maxCount: 1)
        for counter in [3, 5, 5, 4] as [UInt64] { messages.restore(counter, hello) }
        #expect(messages.pendingCounters == [3, 5] && messages.pendingCount == 2)
        let storing = messages.beginStoring()
        #expect(storing.isEmpty && !messages.isUnstored(3) && messages.content(of: 5) == hello)
    }

    //
    @Test func `a counter that does not rise traps`() async {
        await #expect(processExitsWith: .failure) {
            var messages = OutgoingMessages(maxCount: 2, maxByteCount: 100)
            for _ in 0..<2 { messages.append(MessageLedger.Pending(counter: 5, MessageContent(text: "hello"))) }
        }
    }

    @Test func `messages that settle behind a pending one are bounded, until that one settles`() {
        var messages = messages(maxCount: 2)
        var counter: UInt64 = 1
        append(counter, to: &messages)
        while messages.hasRoom(byteCount: 1) {
            counter += 1
            append(counter, to: &messages)
            _ = messages.withdraw(counter)
        }
        #expect(messages.count == OutgoingMessages.maxSettledCount + 2)
        _ = messages.withdraw(1)
        #expect(messages.hasRoom(byteCount: 1) && messages.count == OutgoingMessages.maxSettledCount)
    }

    @Test func `the oldest settled messages are discarded, pending ones are not`() {
        let limit = UInt64(OutgoingMessages.maxSettledCount)
        var messages = messages()
        for counter in 1...(2 * limit) {
            append(counter, to: &messages)
            store(&messages)
            if counter.isMultiple(of: 2) {
                messages.accepted(run(counter...counter, at: counter))
            } else {
                messages.fail(counter, .expired)
            }
        }
        #expect(messages.count == OutgoingMessages.maxSettledCount)
        #expect(messages.state(of: limit) == nil)
        #expect(messages.state(of: limit + 1) == .failed(.expired))
        #expect(messages.settledCounters == Array(limit + 1...2 * limit))
        #expect(self.messages(1...(limit + 10)).pendingCount == OutgoingMessages.maxSettledCount + 10)
    }

    // MARK: Storing

    @Test func `new messages are stored once, and the engine receives them when they are stored`() {
        var messages = messages()
        append(1, to: &messages)
        append(2, to: &messages)
        let storing = [messages.beginStoring().map(\.counter), messages.beginStoring().map(\.counter)]
        #expect(storing == [[1, 2], []] && messages.isUnstored(2) && messages.state(of: 2) == .queued)
        let stored = [messages.stored([1]).map(\.counter), messages.stored([1, 2, 3]).map(\.counter)]
        #expect(stored == [[1], [2]] && !messages.isUnstored(2) && messages.state(of: 2) == .queued)
    }

    @Test func `a message that fails or is edited while the outbox stores it → not stored, or its new content`() {
        var messages = messages()
        append(1, to: &messages)
        append(2, to: &messages)
        _ = messages.beginStoring()
        let long = MessageContent(text: "hello hello")
        let earlier = messages.edit(2, long)
        let isFailed = messages.fail(1, .cancelled)
        let stored = messages.stored([1, 2])
        #expect(earlier == hello && isFailed && stored.map(\.counter) == [2] && stored.map(\.content) == [long])
        #expect(messages.state(of: 1) == .failed(.cancelled) && messages.pendingByteCount == long.byteCount)
    }

    @Test func `a new message is withdrawn, a message that is being stored is not`() {
        var messages = messages()
        append(1, to: &messages)
        let isWithdrawn = messages.withdraw(1)
        #expect(isWithdrawn && messages.pendingCount == 0 && messages.state(of: 1) == .failed(.cancelled))
        append(2, to: &messages)
        let storing = messages.beginStoring().map(\.counter)
        let isLate = !messages.withdraw(2)
        #expect(storing == [2] && isLate)
    }

    @Test(arguments: [(true, [3]), (false, [2, 3])] as [(Bool, [UInt64])])
    func `a room that ends fails new messages, or all that are not stored, and keeps the others`(
        onlyNew: Bool, counters: [UInt64]
    ) {
        var messages = messages(1...1)
        append(2, to: &messages)
        _ = messages.beginStoring()
        append(3, to: &messages)
        let failed = messages.failUnstored(.closed, onlyNew: onlyNew)
        #expect(failed == counters && messages.pendingCount == 3 - counters.count)
        #expect(messages.state(of: 1) == .queued && messages.state(of: 3) == .failed(.closed))
        #expect(messages.state(of: 2) == (onlyNew ? .queued : .failed(.closed)))
    }

    // MARK: States

    @Test func `a message that was written to a connection → sent, and remains so`() {
        var messages = messages(1...3)
        messages.sent(upTo: 2)
        messages.sent(upTo: 1)
        #expect((1...3).map { messages.state(of: $0) } == [.sent, .sent, .queued])
    }

    @Test func `an accepted run → each message at its offset, without content`() {
        var messages = messages(1...5)
        messages.accepted(run(2...3, at: 7))
        messages.accepted(run(4...4, at: 0))
        let accepted: [OutgoingMessages.State] = [.accepted(offset: 7), .accepted(offset: 8), .accepted(offset: 0)]
        #expect((1...5).map { messages.state(of: $0) } == [.queued] + accepted + [.queued])
        #expect(messages.content(of: 2) == nil && messages.pendingCounters == [1, 5])
        #expect(messages.pendingByteCount == 2 * hello.byteCount)
    }

    @Test func `a failed message is not accepted, and an accepted message does not fail`() {
        var messages = messages(1...2)
        let failures = [messages.fail(1, .expired), messages.fail(1, .cancelled), messages.fail(3, .closed)]
        #expect(failures == [true, false, false])
        messages.accepted(run(1...2, at: 1))
        let isFailed = messages.fail(2, .closed)
        #expect(!isFailed && messages.pendingCount == 0)
        #expect(messages.state(of: 1) == .failed(.expired) && messages.state(of: 2) == .accepted(offset: 2))
    }

    @Test func `an edit of a stored message → the new content, and nothing after its outcome`() {
        var messages = messages(1...2)
        let long = MessageContent(text: "hello hello")
        let earlier = messages.edit(2, long)
        #expect(earlier == hello && messages.content(of: 2) == long)
        #expect(messages.pendingByteCount == hello.byteCount + long.byteCount)
        messages.fail(2, .expired)
        let late = messages.edit(2, hello)
        let unknown = messages.edit(3, hello)
        #expect(late == nil && unknown == nil && messages.pendingByteCount == hello.byteCount)
    }

    @Test func `every change of a message changes the version`() {
        var messages = messages(1...3)
        var versions = [messages.version]
        let changes: [(inout OutgoingMessages) -> Void] = [
            { $0.sent(upTo: 3) }, { $0.accepted(self.run(1...1, at: 1)) }, { $0.fail(2, .expired) },
            { $0.progressed(self.bob, .read, upTo: 1) }, { $0.discardOffsets(above: 0) }, { $0.deviceReplaced() },
        ]
        for change in changes {
            change(&messages)
            versions.append(messages.version)
        }
        #expect(Set(versions).count == versions.count)
        messages.fail(2, .expired)
        messages.discardOffsets(above: 0)
        #expect(messages.version == versions[versions.count - 1] + 1)
    }

    @Test func `restored outcomes → the states of the messages, and only the others are pending`() {
        var messages = messages()
        messages.restore(1, .accepted(offset: 7))
        messages.restore(2, hello)
        messages.restore(3, .failed(.expired))
        messages.restore(3, .accepted(offset: 8))
        #expect(messages.state(of: 1) == .accepted(offset: 7) && messages.state(of: 3) == .failed(.expired))
        #expect(messages.pendingCounters == [2] && messages.settledCounters == [1, 3])
    }

    // MARK: The log

    @Test func `a read message is delivered, and receipts only rise`() {
        var messages = messages()
        let receipts: [(Receipt.Mark, UInt64)] = [(.read, 5), (.delivered, 5), (.read, 4), (.delivered, 6)]
        let versions = receipts.map { mark, offset in
            messages.progressed(bob, mark, upTo: offset)
            return messages.version
        }
        #expect(versions == [1, 1, 1, 2])
        #expect(messages.progress.map(\.delivered) == [6])
        #expect(messages.progress.map(\.read) == [5])
    }

    @Test func `of too many members the one with the lowest receipt is discarded`() throws {
        var messages = messages()
        for number in 0...MemberMarks.maxCount {
            let name = try #require(AccountName("member-\(number)"))
            messages.progressed(name, .delivered, upTo: UInt64(number + 1))
        }
        #expect(messages.progress.count == MemberMarks.maxCount)
        #expect(!messages.progress.contains { $0.delivered == 1 })
    }

    //
    @Test func `a log that is replaced discards offsets and receipts`() {
        var messages = messages(1...1)
        messages.accepted(run(1...1, at: 3))
        messages.progressed(bob, .read, upTo: 3)
        messages.discardOffsets(above: 0)
        #expect(messages.state(of: 1) == .accepted(offset: 0))
        #expect(messages.progress.isEmpty)
    }

    //
    @Test func `a log that branches discards the offsets behind the branch`() {
        var messages = messages(1...2)
        messages.accepted(run(1...2, at: 3))
        messages.discardOffsets(above: 3)
        #expect(messages.state(of: 1) == .accepted(offset: 3))
        #expect(messages.state(of: 2) == .accepted(offset: 0))
    }
}
