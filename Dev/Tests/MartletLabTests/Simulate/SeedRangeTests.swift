import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct SeedRangeTests {
    @Test func `two numbers separated by dots, or one number → a range`() {
        #expect(SeedRange(parsing: "1..10")?.seeds == 1...10)
        #expect(SeedRange(parsing: "1..10")?.count == 10)
        #expect(SeedRange(parsing: "7")?.seeds == 7...7)
        #expect(SeedRange(parsing: "18446744073709551615")?.count == 1)
    }

    @Test(arguments: ["", "..", "1..", "..2", "2..1", "1...3", "-1..2", "a..b", "1..18446744073709551615"])
    func `an invalid text → no range`(text: String) {
        #expect(SeedRange(parsing: text) == nil)
    }
}
