import Testing

@testable import MartletTool

@Suite struct SeededTests {
    /// The reference implementation's first numbers for the seed 1234567.
    @Test func `known numbers`() {
        var random = Seeded(seed: 1_234_567)
        #expect(random.next() == 6_457_827_717_110_365_317)
        #expect(random.next() == 3_203_168_211_198_807_973)
    }
}
