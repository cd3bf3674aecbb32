import MartletLink
import MartletWire
import Testing

@Suite struct RTTEstimatorTests {
    @Test func `before the first sample the timeout is 1 s`() {
        let estimator = RTTEstimator()
        #expect(estimator.timeout == .seconds(1))
        #expect(estimator.smoothed == nil)
        #expect(estimator.variation == nil)
        #expect(estimator.latest == nil)
        #expect(estimator.minimum == nil)
    }

    @Test func `the first sample sets the mean and half of it as variation (RFC 6298 section 2.2)`() {
        var estimator = RTTEstimator()
        estimator.sample(.milliseconds(100), ackDelay: .milliseconds(20))
        #expect(estimator.smoothed == .milliseconds(100))
        #expect(estimator.variation == .milliseconds(50))
        #expect(estimator.minimum == .milliseconds(100))
        #expect(estimator.timeout == .milliseconds(100 + 4 * 50 + 25))
        #expect(estimator.quality == .good)
    }

    @Test func `later samples move the mean by an eighth and the variation by a quarter (RFC 6298 section 2.3)`() {
        var estimator = RTTEstimator()
        estimator.sample(.milliseconds(100))
        estimator.sample(.milliseconds(180))
        #expect(estimator.latest == .milliseconds(180))
        #expect(estimator.variation == .microseconds(57_500))
        #expect(estimator.smoothed == .milliseconds(110))
        #expect(estimator.timeout == .milliseconds(110 + 230 + 25))
    }

    @Test func `the peer's delay is subtracted, but not below the minimum (RFC 9002 section 5.3)`() {
        var estimator = RTTEstimator()
        estimator.sample(.milliseconds(80))
        estimator.sample(.milliseconds(100), ackDelay: .milliseconds(20))
        #expect(estimator.smoothed == .milliseconds(80))
        estimator.sample(.milliseconds(88), ackDelay: .milliseconds(20))
        #expect(estimator.smoothed == .milliseconds(81))
        #expect(estimator.minimum == .milliseconds(80))
    }

    // S-27
    @Test func `a delay beyond the maximum counts as the maximum, a negative one as zero`() {
        var estimator = RTTEstimator()
        estimator.sample(.milliseconds(40))
        estimator.sample(.milliseconds(145), ackDelay: .seconds(100))
        #expect(estimator.smoothed == .milliseconds(50))
        estimator.sample(.milliseconds(50), ackDelay: .seconds(-1))
        #expect(estimator.smoothed == .milliseconds(50))
    }

    @Test func `a sample that is not positive or exceeds 60 s is ignored`() {
        var estimator = RTTEstimator()
        #expect(estimator.sample(.zero) == false)
        #expect(estimator.sample(.seconds(-1)) == false)
        #expect(estimator.sample(.seconds(61)) == false)
        #expect(estimator == RTTEstimator())
        #expect(estimator.sample(.seconds(60)) == true)
        #expect(estimator.smoothed == .seconds(60) && estimator.timeout == .seconds(15))
    }

    // S-27
    @Test func `the timeout has a minimum, and its margin at least the granularity`() {
        var estimator = RTTEstimator()
        for _ in 0..<50 { estimator.sample(.milliseconds(1)) }
        #expect(estimator.timeout == RTTEstimator.minimumTimeout)
        for _ in 0..<200 { estimator.sample(.milliseconds(400)) }
        #expect(estimator.timeout > .milliseconds(425))
        #expect(estimator.timeout < .milliseconds(427))
    }

    // S-27, S-30
    @Test func `samples contain the suspension of a process → a timeout after which there is time for two more`() {
        var estimator = RTTEstimator()
        for _ in 0..<8 { estimator.sample(.seconds(30)) }
        #expect(estimator.timeout == .seconds(15))
        #expect(estimator.timeout + estimator.timeout * 2 < Link.ackTimeout)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `for random samples the timeout is within its bounds`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var estimator = RTTEstimator()
        for _ in 0..<3000 {
            let scale = Int64(1) << Int64.random(in: 0..<36, using: &random)
            estimator.sample(
                .nanoseconds(Int64.random(in: -1...scale, using: &random)),
                ackDelay: .nanoseconds(Int64.random(in: -1...scale, using: &random)))
            #expect(estimator.timeout >= RTTEstimator.minimumTimeout)
            #expect(estimator.timeout <= RTTEstimator.maximumTimeout)
            if let smoothed = estimator.smoothed, let minimum = estimator.minimum {
                #expect(smoothed >= .zero)
                #expect(minimum <= estimator.latest!)
            }
        }
    }
}
