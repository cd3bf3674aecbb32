import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct TypingMembersTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    //
    @Test func `who does not say again that it types ends 10 s after it said so last`() {
        var typing = TypingMembers()
        #expect(typing.note(.alice, isTyping: true, now: start))
        #expect(typing.note(.bob, isTyping: true, now: start))
        #expect(typing.note(.bob, isTyping: true, now: start + .seconds(4)))
        #expect(typing.deadline == start + .seconds(10))
        #expect(typing.expired(now: start + .seconds(10)) == [.alice])
        #expect(typing.deadline == start + .seconds(14))
        #expect(typing.expired(now: start + .seconds(14)) == [.bob])
        #expect(typing == TypingMembers())
    }

    @Test func `who says so or leaves types no longer`() {
        var typing = TypingMembers()
        _ = typing.note(.alice, isTyping: true, now: start)
        _ = typing.note(.bob, isTyping: true, now: start)
        #expect(typing.note(.alice, isTyping: false, now: start))
        #expect(typing.remove(.bob))
        #expect(!typing.remove(.bob))
        #expect(typing.deadline == nil)
    }

    @Test func `at most 256 accounts are remembered`() {
        var typing = TypingMembers()
        for number in 0..<TypingMembers.maxCount {
            #expect(typing.note(.named("a\(number)"), isTyping: true, now: start))
        }
        #expect(!typing.note(.alice, isTyping: true, now: start))
        #expect(typing.note(.named("a7"), isTyping: true, now: start))
        #expect(typing.note(.alice, isTyping: false, now: start))
    }
}
