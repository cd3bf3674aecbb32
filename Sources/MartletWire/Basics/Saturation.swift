extension UInt64 {
    /// Returns the sum, or the highest number if the sum overflows. It is used for quantities that a peer states.
    package func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, isBeyond) = addingReportingOverflow(other)
        return isBeyond ? .max : sum
    }

    /// Returns the difference, or 0 if the other is higher.
    package func subtractingSaturating(_ other: UInt64) -> UInt64 { self - Swift.min(self, other) }
}

extension ClosedRange<UInt64> {
    /// The number of offsets in the range; the highest number if there are 2⁶⁴.
    package var offsetCount: UInt64 { (upperBound - lowerBound).addingSaturating(1) }
}
