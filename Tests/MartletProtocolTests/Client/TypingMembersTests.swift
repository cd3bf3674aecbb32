import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct TypingMembersTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func note(
        _ account: AccountName, _ isTyping: Bool = true, after delay: Duration = .zero, _ typing: inout TypingMembers
    ) -> Bool {
        typing.note(account, isTyping: isTyping, now: start + delay)
    }

    //
    @Test func `who does not say again that it types ends 10 s after it said so last`() {
        var typing = TypingMembers()
        #expect(note(.alice, &typing))
        #expect(note(.bob, &typing))
        #expect(note(.bob, after: .seconds(4), &typing))
        #expect(typing.deadline == start + .seconds(10))
        let first = typing.expired(now: start + .seconds(10))
        #expect(first == [.alice])
        #expect(typing.deadline == start + .seconds(14))
        let second = typing.expired(now: start + .seconds(14))
        #expect(second == [.bob])
        #expect(typing == TypingMembers())
    }

    @Test func `who says so or leaves types no longer`() {
        var typing = TypingMembers()
        #expect(note(.alice, &typing))
        #expect(note(.bob, &typing))
        #expect(note(.alice, false, &typing))
        let removals = [typing.remove(.bob), typing.remove(.bob)]
        #expect(removals == [true, false])
        #expect(typing.deadline == nil)
    }

    @Test func `at most 256 accounts are remembered`() {
        var typing = TypingMembers()
        for number in 0..<TypingMembers.maxCount { #expect(note(.named("a\(number)"), &typing)) }
        #expect(!note(.alice, &typing))
        #expect(note(.named("a7"), &typing))
        #expect(note(.alice, false, &typing))
    }
}
