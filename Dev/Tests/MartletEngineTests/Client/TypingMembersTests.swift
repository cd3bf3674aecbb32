import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite struct TypingMembersTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func note(
        _ typing: inout TypingMembers, _ account: AccountName, _ isTyping: Bool = true, after delay: Duration = .zero
    ) -> Bool {
        typing.note(account, isTyping: isTyping, now: start + delay)
    }

    //
    @Test func `an account that does not repeat typing ends 10 s after its last notice`() {
        var typing = TypingMembers()
        #expect(note(&typing, .alice))
        #expect(note(&typing, .bob))
        #expect(note(&typing, .bob, after: .seconds(4)))
        #expect(typing.deadline == start + .seconds(10))
        let first = typing.expired(now: start + .seconds(10))
        #expect(first == [.alice])
        #expect(typing.deadline == start + .seconds(14))
        let second = typing.expired(now: start + .seconds(14))
        #expect(second == [.bob])
        #expect(typing == TypingMembers())
    }

    @Test func `an account that ends typing or leaves is removed`() {
        var typing = TypingMembers()
        #expect(note(&typing, .alice))
        #expect(note(&typing, .bob))
        #expect(note(&typing, .alice, false))
        let removals = [typing.remove(.bob), typing.remove(.bob)]
        #expect(removals == [true, false])
        #expect(typing.deadline == nil)
    }

    @Test func `at most 256 accounts are remembered`() {
        var typing = TypingMembers()
        for number in 0..<TypingMembers.maxCount { #expect(note(&typing, .named("a\(number)"))) }
        #expect(!note(&typing, .alice))
        #expect(note(&typing, .named("a7")))
        #expect(note(&typing, .alice, false))
    }
}
