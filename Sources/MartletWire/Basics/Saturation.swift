extension UInt64 {
    /// The sum, or the highest number where it would be beyond: for counts of what a peer names.
    package func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, isBeyond) = addingReportingOverflow(other)
        return isBeyond ? .max : sum
    }
}

extension ClosedRange<UInt64> {
    /// How many offsets these are; the highest number where there are 2⁶⁴.
    package var offsetCount: UInt64 { (upperBound - lowerBound).addingSaturating(1) }
}
