extension Duration {
    /// Returns a uniform random duration from zero up to, but not including, `bound`; zero if the bound is not
    /// positive. `random` contains 64 uniform random bits.
    package static func uniform(below bound: Duration, random: UInt64) -> Duration {
        let range = UInt64(clamping: bound.nanoseconds)
        return .nanoseconds(Int64(clamping: range.multipliedFullWidth(by: random).high))
    }

    /// Returns this duration with a uniform random change of at most `percent` per cent. `random` contains 64 uniform
    /// random bits.
    package func jittered(percent: Int, random: UInt64) -> Duration {
        let margin = self * percent / 100
        return self - margin + .uniform(below: margin * 2, random: random)
    }

    /// Returns this duration, clamped to `bounds`.
    @inlinable
    package func clamped(to bounds: ClosedRange<Duration>) -> Duration {
        min(max(self, bounds.lowerBound), bounds.upperBound)
    }
}
