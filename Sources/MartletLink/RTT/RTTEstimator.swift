/// An estimator of the round-trip time and the retransmission timeout (RFC 6298 §2, RFC 9002 §5; S-27).
///
/// The acknowledgement delay that the peer reports is subtracted from a sample unless the result is below the minimum
/// sample (RFC 9002 §5.3). A peer therefore gains nothing from a wrong delay. All arithmetic is in whole nanoseconds.
package struct RTTEstimator: Hashable, Sendable {
    /// The maximum delay of an acknowledgement by the peer, which is a part of every timeout.
    package static let maxAckDelay = Duration.milliseconds(25)
    /// The minimum of the term for the variation in a timeout (G in RFC 6298, kGranularity in RFC 9002).
    package static let granularity = Duration.milliseconds(1)
    /// The timeout before the first sample (RFC 6298 §2.1).
    package static let initialTimeout = Duration.seconds(1)
    /// The minimum timeout. Delays of the scheduler would exceed a shorter one.
    package static let minimumTimeout = Duration.milliseconds(200)
    /// The maximum timeout. Frames are sent again twice before `Link.ackTimeout` ends the connection, also when samples
    /// contain the suspension of a process.
    package static let maximumTimeout = Duration.seconds(15)
    /// The maximum valid sample. A longer one contains the suspension of a process.
    package static let maximumSample = Duration.seconds(60)

    /// The bounds in nanoseconds. The conversion of a `Duration` contains a division, which is too slow for every
    /// acknowledgement.
    private enum Bounds {
        static let maxAckDelay = RTTEstimator.maxAckDelay.nanoseconds
        static let granularity = RTTEstimator.granularity.nanoseconds
        static let maximumSample = RTTEstimator.maximumSample.nanoseconds
        static let minimumTimeout = RTTEstimator.minimumTimeout.nanoseconds
        static let maximumTimeout = RTTEstimator.maximumTimeout.nanoseconds
    }

    private var smoothedNanoseconds: Int64 = 0
    private var variationNanoseconds: Int64 = 0
    private(set) var latestNanoseconds: Int64 = 0
    private var minimumNanoseconds = Int64.max

    /// Creates an estimator without samples.
    package init() {}

    /// A Boolean value that indicates whether there is a sample.
    package var hasSample: Bool { minimumNanoseconds != .max }

    /// The smoothed round-trip time (srtt); nil without samples.
    package var smoothed: Duration? { hasSample ? .nanoseconds(smoothedNanoseconds) : nil }

    /// The mean deviation (rttvar); nil without samples.
    package var variation: Duration? { hasSample ? .nanoseconds(variationNanoseconds) : nil }

    /// The latest sample as measured, with the delay of the peer; nil without samples.
    package var latest: Duration? { hasSample ? .nanoseconds(latestNanoseconds) : nil }

    /// The minimum sample; nil without samples.
    package var minimum: Duration? { hasSample ? .nanoseconds(minimumNanoseconds) : nil }

    /// The quality of the link, determined by ``smoothed``.
    package var quality: LinkQuality { LinkQuality(roundTrip: smoothed) }

    /// Adds a sample.
    ///
    /// - Parameters:
    ///   - roundTrip: The measured round-trip time.
    ///   - ackDelay: The part of it that the peer reports as its acknowledgement delay.
    /// - Returns: Whether the sample was valid. A sample that is not positive, or above ``maximumSample``, changes
    ///   nothing.
    @discardableResult
    package mutating func sample(_ roundTrip: Duration, ackDelay: Duration = .zero) -> Bool {
        sample(nanoseconds: roundTrip.nanoseconds, ackDelay: ackDelay.nanoseconds)
    }

    @discardableResult
    mutating func sample(nanoseconds: Int64, ackDelay: Int64) -> Bool {
        guard nanoseconds > 0, nanoseconds <= Bounds.maximumSample else { return false }
        let isFirst = !hasSample
        latestNanoseconds = nanoseconds
        minimumNanoseconds = min(minimumNanoseconds, latestNanoseconds)
        guard !isFirst else {
            smoothedNanoseconds = latestNanoseconds
            variationNanoseconds = latestNanoseconds / 2
            return true
        }
        let delay = max(0, min(ackDelay, Bounds.maxAckDelay))
        let adjusted = latestNanoseconds - delay >= minimumNanoseconds ? latestNanoseconds - delay : latestNanoseconds
        variationNanoseconds = (3 * variationNanoseconds + abs(smoothedNanoseconds - adjusted)) / 4
        smoothedNanoseconds = (7 * smoothedNanoseconds + adjusted) / 8
        return true
    }

    /// The retransmission timeout: srtt + max(4·rttvar, granularity) + max ack delay, clamped to the range from
    /// ``minimumTimeout`` to ``maximumTimeout`` (S-27).
    package var timeout: Duration {
        guard hasSample else { return Self.initialTimeout }
        let margin = max(4 * variationNanoseconds, Bounds.granularity)
        let timeout = smoothedNanoseconds + margin + Bounds.maxAckDelay
        return .nanoseconds(max(Bounds.minimumTimeout, min(timeout, Bounds.maximumTimeout)))
    }

    /// The minimum time in flight of a transmission that is declared lost because later ones arrived: srtt - rttvar,
    /// and zero before the first sample (S-32).
    package var lossDelay: Duration {
        .nanoseconds(max(0, smoothedNanoseconds - variationNanoseconds))
    }
}
