/// Estimates the round-trip time and the retransmission timeout from samples (RFC 6298 §2, RFC 9002 §5).
///
/// The time for which the peer held the acknowledgement back is taken off a sample, as far as the sample stays at or
/// above the minimum seen (RFC 9002 §5.3), so a peer that lies about it gains nothing. All arithmetic is in whole
/// nanoseconds (S-27).
public struct RTTEstimator: Hashable, Sendable {
    /// The longest that a peer may hold an acknowledgement back; part of every timeout.
    public static let maxAckDelay = Duration.milliseconds(25)
    /// The least margin for variation in a timeout (RFC 6298's G, RFC 9002's kGranularity).
    public static let granularity = Duration.milliseconds(1)
    /// The timeout before the first sample (RFC 6298 §2.1).
    public static let initialTimeout = Duration.seconds(1)
    /// The shortest timeout; shorter ones fire on a scheduler's hiccup.
    public static let minimumTimeout = Duration.milliseconds(200)
    /// The longest timeout, doubling included (RFC 6298 §2.5).
    public static let maximumTimeout = Duration.seconds(60)
    /// The longest sample that is believed; a longer one timed a suspended process, not the network.
    public static let maximumSample = Duration.seconds(60)

    /// The same in nanoseconds, by which every acknowledgement is reckoned: to take a duration apart is a division.
    private enum Bounds {
        static let maxAckDelay = RTTEstimator.maxAckDelay.nanoseconds
        static let granularity = RTTEstimator.granularity.nanoseconds
        static let maximumSample = RTTEstimator.maximumSample.nanoseconds
        static let minimumTimeout = RTTEstimator.minimumTimeout.nanoseconds
        static let maximumTimeout = RTTEstimator.maximumTimeout.nanoseconds
    }

    private var smoothedNanoseconds: Int64 = 0
    private var variationNanoseconds: Int64 = 0
    private var latestNanoseconds: Int64 = 0
    private var minimumNanoseconds = Int64.max
    /// Expiries since the last sample or acknowledgement; each doubles the timeout.
    public private(set) var backoffCount = 0

    /// An estimator without a sample.
    public init() {}

    /// Whether at least one sample was taken.
    public var hasSample: Bool { minimumNanoseconds != .max }

    /// The smoothed round-trip time (srtt).
    public var smoothed: Duration? { hasSample ? .nanoseconds(smoothedNanoseconds) : nil }

    /// The mean deviation (rttvar).
    public var variation: Duration? { hasSample ? .nanoseconds(variationNanoseconds) : nil }

    /// The last sample as measured, the peer's delay included.
    public var latest: Duration? { hasSample ? .nanoseconds(latestNanoseconds) : nil }

    /// The shortest sample so far.
    public var minimum: Duration? { hasSample ? .nanoseconds(minimumNanoseconds) : nil }

    /// How good the link is by ``smoothed``.
    public var quality: LinkQuality { LinkQuality(roundTrip: smoothed) }

    /// Takes one sample: `roundTrip` as measured, `ackDelay` of it spent at the peer, by its own account.
    ///
    /// - Returns: whether the sample was believed; one that is not positive or above ``maximumSample`` changes nothing.
    @discardableResult
    public mutating func sample(_ roundTrip: Duration, ackDelay: Duration = .zero) -> Bool {
        sample(nanoseconds: roundTrip.nanoseconds, ackDelay: ackDelay.nanoseconds)
    }

    @discardableResult
    mutating func sample(nanoseconds: Int64, ackDelay: Int64) -> Bool {
        guard nanoseconds > 0, nanoseconds <= Bounds.maximumSample else { return false }
        let isFirst = !hasSample
        latestNanoseconds = nanoseconds
        minimumNanoseconds = min(minimumNanoseconds, latestNanoseconds)
        backoffCount = 0
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

    /// The timeout without doubling: srtt + max(4·rttvar, granularity) + max ack delay, between
    /// ``minimumTimeout`` and ``maximumTimeout`` (S-27).
    public var baseTimeout: Duration {
        guard hasSample else { return Self.initialTimeout }
        let margin = max(4 * variationNanoseconds, Bounds.granularity)
        let timeout = smoothedNanoseconds + margin + Bounds.maxAckDelay
        return .nanoseconds(max(Bounds.minimumTimeout, min(timeout, Bounds.maximumTimeout)))
    }

    /// The minimum time in flight of a transmission that is declared lost because later ones arrived: srtt - rttvar,
    /// and zero before the first sample (S-32).
    public var lossDelay: Duration {
        .nanoseconds(max(0, smoothedNanoseconds - variationNanoseconds))
    }

    /// The retransmission timeout: ``baseTimeout``, doubled for each expiry since the last sample, at most
    /// ``maximumTimeout``.
    public var timeout: Duration {
        min(baseTimeout * (1 << backoffCount), Self.maximumTimeout)
    }

    /// The timer ran out: doubles the timeout (RFC 6298 §5.5).
    public mutating func timeoutExpired() {
        if timeout < Self.maximumTimeout { backoffCount += 1 }
    }

    /// Something new was acknowledged, even if it gave no sample: the doubling ends (RFC 9002 §6.2.1).
    public mutating func acknowledged() {
        backoffCount = 0
    }
}
