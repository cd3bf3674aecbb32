import MartletWire
import Testing

@Suite struct SeededRandomTests {
    @Test func `the seed 1234567 gives the first numbers of the reference implementation`() {
        var random = SeededRandom(seed: 1_234_567)
        #expect(random.next() == 6_457_827_717_110_365_317)
        #expect(random.next() == 3_203_168_211_198_807_973)
    }
}
