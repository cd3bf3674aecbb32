extension Duration {
    /// In nanoseconds; negative durations are 0, those beyond 64 bits `UInt64.max`.
    var nanosecondCount: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (scaled, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = scaled.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
        return overflow || carry ? .max : sum
    }
}

extension EventLoop {
    /// The time `duration` from `now`, never past the clock's end.
    public func deadline(after duration: Duration) -> UInt64 {
        let (sum, overflow) = now.addingReportingOverflow(duration.nanosecondCount)
        return overflow ? .max : sum
    }
}
