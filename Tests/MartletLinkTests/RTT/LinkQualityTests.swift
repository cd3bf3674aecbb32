import MartletLink
import Testing

@Suite struct LinkQualityTests {
    @Test(arguments: [
        (0, LinkQuality.excellent), (99, .excellent), (100, .good), (299, .good), (300, .fair), (499, .fair),
        (500, .poor), (799, .poor), (800, .bad), (60_000, .bad),
    ])
    func `a round trip → its quality`(milliseconds: Int, quality: LinkQuality) {
        #expect(LinkQuality(roundTrip: .milliseconds(milliseconds)) == quality)
    }

    @Test func `no round trip → unknown`() {
        #expect(LinkQuality(roundTrip: nil) == .unknown)
        #expect(RTTEstimator().quality == .unknown)
    }
}
