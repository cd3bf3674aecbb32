/// How the application is being used, as far as its battery is concerned.
public enum HeartbeatMode: Hashable, Sendable, CaseIterable {
    /// Somebody is looking.
    case foreground
    /// Nobody is looking.
    case background
    /// The system asks to save power.
    case lowPower
    /// The process is about to be frozen: nothing is sent.
    case suspended
}

/// How eagerly a silent peer is asked.
public enum HeartbeatStrategy: Hashable, Sendable, CaseIterable {
    /// ×0.8: notices sooner.
    case aggressive
    /// ×1.
    case balanced
    /// ×1.2: costs less.
    case conservative
}

/// How long a link may be silent before the peer is asked whether it is there.
///
/// base × strategy × mode × quality, ± ``jitterPercent``, clamped to the mode's ``range(of:)``. Quality is ×2.5 for
/// poor, ×1.5 for fair and unknown, and RTT / 200 ms, at least 1, for the others (C-48).
public struct HeartbeatInterval: Hashable, Sendable {
    /// The interval before anything is multiplied.
    public static let base = Duration.seconds(30)
    /// How much jitter takes away or adds at most, in hundredths.
    public static let jitterPercent = 10
    /// The foreground's shortest and longest interval.
    public static let foregroundRange = Duration.seconds(15)...Duration.seconds(300)
    /// The background's shortest and longest interval.
    public static let backgroundRange = Duration.seconds(45)...Duration.seconds(900)
    /// The shortest and longest interval while power is to be saved.
    public static let lowPowerRange = Duration.seconds(60)...Duration.seconds(1200)
    /// The round-trip time for which a good link's interval begins to stretch.
    public static let referenceRoundTrip = Duration.milliseconds(200)

    /// How the application is being used.
    public var mode: HeartbeatMode
    /// How eagerly a silent peer is asked.
    public var strategy: HeartbeatStrategy
    /// The smoothed round-trip time, if it is known.
    public var roundTrip: Duration?
    /// The longest interval for other reasons: the NAT's idle limit, the server's hint. Not below the mode's shortest
    /// (C-49).
    public var limit: Duration?

    /// An interval with these parts.
    public init(
        mode: HeartbeatMode = .foreground, strategy: HeartbeatStrategy = .balanced, roundTrip: Duration? = nil,
        limit: Duration? = nil
    ) {
        self.mode = mode
        self.strategy = strategy
        self.roundTrip = roundTrip
        self.limit = limit
    }

    /// The shortest and longest interval of a mode, `nil` for suspended.
    public static func range(of mode: HeartbeatMode) -> ClosedRange<Duration>? {
        switch mode {
        case .foreground: foregroundRange
        case .background: backgroundRange
        case .lowPower: lowPowerRange
        case .suspended: nil
        }
    }

    /// The interval with jitter from 64 uniform bits; `nil` when suspended.
    public func duration(random: UInt64) -> Duration? {
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
