/// The unit of a duration on the wire, in units per second.
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

    /// Returns the duration in whole units, rounded down and clamped to 32 bits.
    func wireCount(_ unit: WireTimeUnit) -> UInt32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds <= UInt32.max else { return .max }
        // The operands are below 2^32 · 10^6 and 10^6, so neither the product nor the sum overflows.
        let whole = UInt64(seconds) * unit.rawValue
        return UInt32(clamping: whole + UInt64(attoseconds) / (1_000_000_000_000_000_000 / unit.rawValue))
    }

    /// Returns the duration rounded down to a value that the wire can represent, so that a frame equals its parsed
    /// copy.
    func roundedDown(to unit: WireTimeUnit) -> Duration {
        Duration(wireCount: wireCount(unit), unit)
    }
}
