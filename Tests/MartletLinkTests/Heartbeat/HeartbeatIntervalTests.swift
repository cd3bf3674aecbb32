import MartletLink
import MartletWire
import Testing

@Suite struct HeartbeatIntervalTests {
    private static let middle: UInt64 = 1 << 63

    /// Seconds, by mode, strategy and round trip in milliseconds.
    private static let expected = """
        mode        strategy      unknown  50     250    400    600    1000
        foreground  aggressive    36.0     24.0   30.0   36.0   60.0   120.0
        foreground  balanced      45.0     30.0   37.5   45.0   75.0   150.0
        foreground  conservative  54.0     36.0   45.0   54.0   90.0   180.0
        background  aggressive    108.0    72.0   90.0   108.0  180.0  360.0
        background  balanced      135.0    90.0   112.5  135.0  225.0  450.0
        background  conservative  162.0    108.0  135.0  162.0  270.0  540.0
        lowPower    aggressive    144.0    96.0   120.0  144.0  240.0  480.0
        lowPower    balanced      180.0    120.0  150.0  180.0  300.0  600.0
        lowPower    conservative  216.0    144.0  180.0  216.0  360.0  720.0
        suspended   aggressive    none     none   none   none   none   none
        suspended   balanced      none     none   none   none   none   none
        suspended   conservative  none     none   none   none   none   none
        """

    // C-48
    @Test func `each mode, strategy and round trip has the interval of the table`() {
        let roundTrips: [Int?] = [nil, 50, 250, 400, 600, 1000]
        var actual = [["mode", "strategy"] + roundTrips.map { $0.map(String.init) ?? "unknown" }]
        for mode in HeartbeatMode.allCases {
            for strategy in HeartbeatStrategy.allCases {
                let cells = roundTrips.map { roundTrip in
                    let interval = HeartbeatInterval(
                        mode: mode, strategy: strategy, roundTrip: roundTrip.map { .milliseconds($0) })
                    return interval.duration(random: Self.middle)
                }
                actual.append(["\(mode)", "\(strategy)"] + cells.map { $0.map(inSeconds) ?? "none" })
            }
        }
        #expect(actual == Self.expected.split(separator: "\n").map { $0.split(separator: " ").map(String.init) })
    }

    @Test(arguments: [
        (0, 30_000), (199, 30_000), (200, 30_000), (220, 33_000), (299, 44_850), (300, 45_000), (500, 75_000),
        (799, 75_000), (800, 120_000), (1600, 240_000), (2000, 300_000), (60_000, 300_000), (86_400_000, 300_000),
    ])
    func `in the foreground the interval grows with the round trip, up to 300 s`(roundTrip: Int, interval: Int) {
        let parts = HeartbeatInterval(roundTrip: .milliseconds(roundTrip))
        #expect(parts.duration(random: Self.middle) == .milliseconds(interval))
    }

    // C-48
    @Test func `jitter is at most a tenth in either direction`() {
        let parts = HeartbeatInterval(roundTrip: .milliseconds(50))
        #expect(parts.duration(random: 0) == .seconds(27))
        #expect(parts.duration(random: .max)! < .seconds(33))
        #expect(parts.duration(random: .max)! > .milliseconds(32_999))
    }

    // C-49
    @Test func `a limit shortens the interval, but not below the minimum of the mode`() {
        var parts = HeartbeatInterval(roundTrip: .milliseconds(50), limit: .seconds(20))
        #expect(parts.duration(random: .max) == .seconds(20))
        parts.limit = .seconds(5)
        #expect(parts.duration(random: .max) == .seconds(15))
        parts.mode = .background
        #expect(parts.duration(random: .max) == .seconds(45))
        parts.limit = .seconds(500)
        #expect(parts.duration(random: Self.middle) == .seconds(90))
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func `for random parts the interval is in the range of its mode`(
        seed: UInt64
    ) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<3000 {
            let mode = HeartbeatMode.allCases.randomElement(using: &random)!
            let parts = HeartbeatInterval(
                mode: mode, strategy: HeartbeatStrategy.allCases.randomElement(using: &random)!,
                roundTrip: .nanoseconds(Int64.random(in: .min ... .max, using: &random)),
                limit: .nanoseconds(Int64.random(in: .min ... .max, using: &random)))
            let duration = parts.duration(random: random.next())
            guard let range = HeartbeatInterval.range(of: mode) else {
                #expect(duration == nil)
                continue
            }
            #expect(range.contains(duration!))
        }
    }

    private func inSeconds(_ duration: Duration) -> String {
        "\(Double(duration.milliseconds) / 1000)"
    }
}
