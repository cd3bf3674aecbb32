/// The unit in which a span of time crosses the wire, as units per second.
enum WireTimeUnit: UInt64 {
    case seconds = 1
    case milliseconds = 1_000
    case microseconds = 1_000_000
}

extension Duration {
    init(wireCount count: UInt32, _ unit: WireTimeUnit) {
        switch unit {
        case .seconds: self = .seconds(count)
        case .milliseconds: self = .milliseconds(count)
        case .microseconds: self = .microseconds(count)
        }
    }

    /// Whole units, rounded down, clamped to what 32 bits hold.
    func wireCount(_ unit: WireTimeUnit) -> UInt32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds <= UInt32.max else { return .max }
        // Below 2^32 · 10^6 + 10^6, so neither the product nor the sum can overflow.
        let whole = UInt64(seconds) * unit.rawValue
        return UInt32(clamping: whole + UInt64(attoseconds) / (1_000_000_000_000_000_000 / unit.rawValue))
    }

    /// The nearest span below that the wire can carry, so that a frame equals its own copy read back.
    func roundedDown(to unit: WireTimeUnit) -> Duration {
        Duration(wireCount: wireCount(unit), unit)
    }
}
