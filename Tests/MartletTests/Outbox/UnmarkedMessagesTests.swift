import Testing

@testable import Martlet

@Suite("Messages that are not marked as in flight")
struct UnmarkedMessagesTests {
    private func entry(
        _ counter: UInt64, isLimited: Bool = false, isInFlight: Bool = false, file: String? = nil
    ) -> OutboxEntry {
        let id = MessageID(sender: AccountName("alice"), device: DeviceID(rawValue: 7), counter: counter)
        return OutboxEntry(
            id: id, room: "a", content: MessageContent(text: "hi"), timeToLive: isLimited ? .seconds(1) : nil,
            inFlightSince: isInFlight ? 1 : nil, file: file)
    }

    // C-75
    @Test func `a message with a time to live → it and those behind it are released by its mark`() {
        var messages = UnmarkedMessages()
        messages.stored([entry(1), entry(2, isLimited: true), entry(3)])
        #expect(messages.releasedUpTo == 1 && messages.counters == [1, 2, 3])
        messages.marked(upTo: 2)
        #expect(messages.releasedUpTo == 3 && messages.counters == [3])
    }

    @Test func `a message that was stored as in flight → released`() {
        var messages = UnmarkedMessages()
        messages.stored([entry(1, isLimited: true, isInFlight: true)])
        #expect(messages.releasedUpTo == 1 && messages.counters.isEmpty)
    }

    // M-26
    @Test func `a message with a file → it and those behind it are marked and released when the file is uploaded`() {
        var messages = UnmarkedMessages()
        messages.stored([entry(1), entry(2, file: "x"), entry(3), entry(4, file: "y")])
        #expect(messages.releasedUpTo == 1 && messages.markable == [1] && messages.nextWithFile == 2)
        messages.uploaded(2)
        #expect(messages.releasedUpTo == 3 && messages.markable == [1, 2, 3] && messages.nextWithFile == 4)
        let isRemoved = messages.remove(4)
        #expect(isRemoved && messages.releasedUpTo == 4 && messages.nextWithFile == nil)
    }

    @Test func `the removal of a withheld message → the messages behind it are released`() {
        var messages = UnmarkedMessages()
        messages.stored([entry(1, isLimited: true), entry(2)])
        let answer1 = messages.remove(1)
        #expect(answer1)
        #expect(messages.releasedUpTo == 2)
        let answer2 = messages.remove(1)
        #expect(!answer2)
    }
}
