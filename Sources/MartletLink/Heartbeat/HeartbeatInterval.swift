/// The use of the application, with its effect on the battery.
package enum HeartbeatMode: Hashable, Sendable, CaseIterable {
    /// The application is visible.
    case foreground
    /// The application is not visible.
    case background
    /// The system saves power.
    case lowPower
    /// The process is about to be suspended. No pings are sent.
    case suspended
}

/// The strategy of the heartbeat: a factor of the interval between pings.
public enum HeartbeatStrategy: Hashable, Sendable, CaseIterable {
    /// The factor 0.8, which detects a dead peer earlier.
    case aggressive
    /// The factor 1.
    case balanced
    /// The factor 1.2, which uses less power.
    case conservative
}

/// The interval of silence after which a ping is sent (C-48).
///
/// The interval is base × strategy × mode × quality, with a jitter of ± ``jitterPercent`` %, clamped to the
/// ``range(of:)`` of the mode. The factor of the quality is 2.5 for poor, 1.5 for fair and unknown, and RTT / 200 ms,
/// at least 1, for the others.
package struct HeartbeatInterval: Hashable, Sendable {
    /// The interval without any factor.
    package static let base = Duration.seconds(30)
    /// The maximum jitter in per cent.
    package static let jitterPercent = 10
    /// The range of the interval in the foreground.
    package static let foregroundRange = Duration.seconds(15)...Duration.seconds(300)
    /// The range of the interval in the background.
    package static let backgroundRange = Duration.seconds(45)...Duration.seconds(900)
    /// The range of the interval while the system saves power.
    package static let lowPowerRange = Duration.seconds(60)...Duration.seconds(1200)
    /// The round-trip time above which the interval of a good link increases.
    package static let referenceRoundTrip = Duration.milliseconds(200)

    /// The use of the application.
    package var mode: HeartbeatMode
    /// The strategy.
    package private(set) var strategy: HeartbeatStrategy
    /// The smoothed round-trip time; nil if it is unknown.
    package var roundTrip: Duration?
    /// The maximum interval, determined by the NAT's idle timeout and the server's hint. It does not lower the interval
    /// below the range of the mode (C-49).
    package var limit: Duration?

    /// Creates an interval.
    package init(
        mode: HeartbeatMode = .foreground, strategy: HeartbeatStrategy = .balanced, roundTrip: Duration? = nil,
        limit: Duration? = nil
    ) {
        self.mode = mode
        self.strategy = strategy
        self.roundTrip = roundTrip
        self.limit = limit
    }

    /// Returns the range of the interval in a mode; nil for suspended.
    package static func range(of mode: HeartbeatMode) -> ClosedRange<Duration>? {
        switch mode {
        case .foreground: foregroundRange
        case .background: backgroundRange
        case .lowPower: lowPowerRange
        case .suspended: nil
        }
    }

    /// Returns the interval with jitter from 64 uniform random bits; nil while suspended.
    package func duration(random: UInt64) -> Duration? {
        guard let range = Self.range(of: mode) else { return nil }
        let jittered = unclamped.jittered(percent: Self.jitterPercent, random: random)
        return min(jittered, limit ?? jittered).clamped(to: range)
    }

    private var unclamped: Duration {
        Self.base * strategy.percent / 100 * mode.factor * qualityPerMille / 1000
    }

    private var qualityPerMille: Int {
        switch LinkQuality(roundTrip: roundTrip) {
        case .poor: return 2500
        case .fair, .unknown: return 1500
        case .excellent, .good, .bad:
            let measured = roundTrip?.nanoseconds ?? 0
            return max(Int(measured / (Self.referenceRoundTrip.nanoseconds / 1000)), 1000)
        }
    }
}

extension HeartbeatStrategy {
    fileprivate var percent: Int {
        switch self {
        case .aggressive: 80
        case .balanced: 100
        case .conservative: 120
        }
    }
}

extension HeartbeatMode {
    fileprivate var factor: Int {
        switch self {
        case .foreground: 1
        case .background: 3
        case .lowPower: 4
        case .suspended: 0
        }
    }
}

extension HeartbeatInterval: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try archive.choice(&mode)
        try archive.choice(&strategy)
        try archive.optional(&roundTrip, .zero)
        try archive.optional(&limit, .zero)
    }
}
