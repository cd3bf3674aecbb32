import Testing

@testable import Martlet

@Suite("Claimed dead letters")
struct ClaimedLettersTests {
    private let letter = MessageID(sender: AccountName("alice"), device: DeviceID(rawValue: 7), counter: 1)

    @Test func `a second claim → false, until the letter is unclaimed`() {
        var letters = ClaimedLetters()
        let answer1 = letters.claim(letter)
        #expect(answer1)
        let answer2 = letters.claim(letter)
        #expect(!answer2)
        letters.unclaim([letter])
        let answer3 = letters.claim(letter)
        #expect(answer3)
    }

    @Test func `a message that replaces a letter → the letter once`() {
        var letters = ClaimedLetters()
        letters.replace(letter, by: 9)
        let answer4 = letters.takeReplaced(by: [8])
        #expect(answer4 == [:])
        let answer5 = letters.takeReplaced(by: [9])
        #expect(answer5 == [9: letter])
        let answer6 = letters.takeReplaced(by: [9])
        #expect(answer6 == [:])
    }
}
