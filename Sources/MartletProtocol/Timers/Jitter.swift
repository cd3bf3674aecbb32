extension Duration {
    /// A duration from zero up to, not including, `bound`, spread evenly by 64 uniform bits; zero for a bound of zero
    /// or less.
    public static func uniform(below bound: Duration, random: UInt64) -> Duration {
        let range = UInt64(clamping: bound.nanoseconds)
        return .nanoseconds(Int64(clamping: range.multipliedFullWidth(by: random).high))
    }

    /// This duration with up to `percent` hundredths of it added or taken away, spread evenly by 64 uniform bits.
    public func jittered(percent: Int, random: UInt64) -> Duration {
        let margin = self * percent / 100
        return self - margin + .uniform(below: margin * 2, random: random)
    }

    /// The nearest duration that is in `bounds`.
    @inlinable
    public func clamped(to bounds: ClosedRange<Duration>) -> Duration {
        min(max(self, bounds.lowerBound), bounds.upperBound)
    }
}
