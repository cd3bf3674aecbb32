/// Detects jumps of the wall clock by comparison with a steady clock, from one observation to the next.
struct ClockSteps {
    /// The maximum step that does not count as a jump, in milliseconds.
    static let maxStep: Int64 = 60_000

    private var wall: UInt64
    private var steady: ContinuousClock.Instant

    /// - Parameters:
    ///   - wall: Milliseconds since 1970.
    ///   - steady: The same time on the steady clock.
    init(wall: UInt64, steady: ContinuousClock.Instant) {
        (self.wall, self.steady) = (wall, steady)
    }

    /// Compares both clocks. Returns the step since the last observation, in milliseconds, if it is a jump. Later steps
    /// are relative to the wall clock after the jump.
    mutating func jump(wall: UInt64, steady: ContinuousClock.Instant) -> Int64? {
        let (seconds, _) = (steady - self.steady).components
        let step = Int64(wall) - Int64(self.wall) - seconds * 1000
        (self.wall, self.steady) = (wall, steady)
        return abs(step) > Self.maxStep ? step : nil
    }
}
