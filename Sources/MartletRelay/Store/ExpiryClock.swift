import MartletWire

/// The clock by which stores remove data because of its age.
///
/// It is never ahead of the wall clock, and advances at most as fast as a steady clock. A wall clock that jumps ahead
/// therefore removes nothing. A wall clock that was behind, or a process that did not run, lets it fall behind.
///
/// | state | owns | ends |
/// |---|---|---|
/// | both clocks agree | the first observation of the agreement | a jump: another agreement begins; a day: the clock is set to the wall clock |
package struct ExpiryClock: Sendable {
    /// The maximum difference of both clocks in an agreement, in milliseconds.
    static let maxDifference: UInt64 = 60_000
    /// The duration of an agreement after which the clock is set to the wall clock.
    static let agreementDuration = Duration.seconds(24 * 3600)

    /// The time, in milliseconds since 1970. A store keeps it across restarts.
    package private(set) var now: UInt64
    private var steady: ContinuousClock.Instant
    private var agreement: (wall: UInt64, steady: ContinuousClock.Instant)

    /// Continues a clock after a restart.
    ///
    /// - Parameters:
    ///   - stored: The last known value of `now`; nil for a new clock, which begins with the wall clock.
    ///   - wall: The wall clock, in milliseconds since 1970.
    ///   - steady: The same time on the steady clock.
    package init(stored: UInt64?, wall: UInt64, steady: ContinuousClock.Instant) {
        now = min(stored ?? wall, wall)
        self.steady = steady
        agreement = (wall, steady)
    }

    /// Compares both clocks.
    ///
    /// - Returns: The jump of the wall clock in milliseconds, if there was one.
    package mutating func observe(wall: UInt64, steady: ContinuousClock.Instant) -> Int64? {
        now = min(now.addingSaturating(Self.milliseconds(steady - self.steady)), wall)
        self.steady = steady
        let expected = agreement.wall.addingSaturating(Self.milliseconds(steady - agreement.steady))
        let difference = max(wall, expected) - min(wall, expected)
        if difference > Self.maxDifference {
            agreement = (wall, steady)
            return wall > expected ? Int64(clamping: difference) : -Int64(clamping: difference)
        }
        if steady - agreement.steady >= Self.agreementDuration {
            now = wall
            agreement = (wall, steady)
        }
        return nil
    }

    private static func milliseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        return UInt64(clamping: seconds) &* 1000 &+ UInt64(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
