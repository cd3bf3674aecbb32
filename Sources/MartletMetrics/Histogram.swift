/// A histogram of durations whose buckets grow with the duration.
///
/// Each power of two of microseconds has eight buckets of equal width, as in HdrHistogram, so a quantile is at most
/// 12.5 % above the exact one. A histogram without values has no buckets in memory, and a full one has 2,176 bytes.
public struct Histogram: Sendable, Equatable {
    /// The binary logarithm of the number of buckets in a power of two.
    private static let precision = 3
    /// The binary logarithm of the first duration, in microseconds, that is counted in the last bucket.
    private static let maxExponent = 36
    /// The maximum number of buckets.
    static let maxBucketCount = (maxExponent - precision + 1) << precision

    /// The longest duration that is counted, in nanoseconds: 146 years.
    private static let maxNanoseconds: UInt64 = 1 << 62

    private var buckets: [UInt64] = []
    /// The number of durations.
    public private(set) var count: UInt64 = 0
    // A `Duration` would cost a division of 128 bits for each record.
    private var sumNanoseconds: UInt64 = 0
    private var maxNanoseconds: UInt64 = 0

    /// A histogram without values.
    package init() {}

    /// The sum of all durations.
    public var sum: Duration { .nanoseconds(Int64(clamping: sumNanoseconds)) }

    /// The longest duration.
    public var max: Duration { .nanoseconds(Int64(maxNanoseconds)) }

    /// Counts a duration; a negative one as zero.
    package mutating func record(_ duration: Duration) {
        let (seconds, attoseconds) = Swift.max(duration, .zero).components
        let isLong = seconds >= Int64(Self.maxNanoseconds / 1_000_000_000)
        record(nanoseconds: isLong ? .max : UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds) / 1_000_000_000)
    }

    /// Counts a duration in nanoseconds.
    package mutating func record(nanoseconds: UInt64) {
        let nanoseconds = Swift.min(nanoseconds, Self.maxNanoseconds)
        let index = Self.index(of: nanoseconds / 1000)
        if index >= buckets.count {
            buckets.append(contentsOf: repeatElement(0, count: index + 1 - buckets.count))
        }
        buckets[index] += 1
        count += 1
        sumNanoseconds &+= nanoseconds
        maxNanoseconds = Swift.max(maxNanoseconds, nanoseconds)
    }

    /// Returns a duration that at least this share of the durations does not exceed; nil without durations.
    ///
    /// - Parameter share: The share, in 0...1, for example 0.99 for the 99th percentile.
    public func quantile(_ share: Double) -> Duration? {
        guard count > 0 else { return nil }
        let rank = Swift.max((Swift.min(Swift.max(share, 0), 1) * Double(count)).rounded(.up), 1)
        var below: UInt64 = 0
        for (index, number) in buckets.enumerated() {
            below += number
            guard Double(below) >= rank else { continue }
            return index < Self.maxBucketCount - 1 ? Swift.min(.microseconds(Self.end(of: index)), max) : max
        }
        return max
    }

    /// Returns the number of durations below a power of two of microseconds.
    ///
    /// - Parameter exponent: The binary logarithm of the bound, at most 36.
    func count(belowPower exponent: Int) -> UInt64 {
        buckets.prefix(Self.index(of: 1 << UInt64(exponent))).reduce(0, +)
    }

    /// Returns the durations that an earlier state of the same histogram does not have. Their maximum is that of all.
    package func subtracting(_ earlier: Histogram) -> Histogram {
        var rest = self
        for (index, number) in earlier.buckets.enumerated() { rest.buckets[index] -= number }
        rest.count -= earlier.count
        rest.sumNanoseconds &-= earlier.sumNanoseconds
        return rest
    }

    /// Adds the durations of another histogram.
    package static func += (sum: inout Histogram, other: Histogram) {
        if sum.buckets.count < other.buckets.count {
            sum.buckets.append(contentsOf: repeatElement(0, count: other.buckets.count - sum.buckets.count))
        }
        for (index, number) in other.buckets.enumerated() { sum.buckets[index] += number }
        sum.count += other.count
        sum.sumNanoseconds &+= other.sumNanoseconds
        sum.maxNanoseconds = Swift.max(sum.maxNanoseconds, other.maxNanoseconds)
    }

    /// The bucket of a number of microseconds. Below eight, each number has a bucket.
    private static func index(of microseconds: UInt64) -> Int {
        guard microseconds >> precision > 0 else { return Int(microseconds) }
        let exponent = 63 - microseconds.leadingZeroBitCount
        guard exponent < maxExponent else { return maxBucketCount - 1 }
        let position = Int(microseconds >> UInt64(exponent - precision)) & ((1 << precision) - 1)
        return (exponent - precision + 1) << precision + position
    }

    /// The first number of microseconds above a bucket.
    private static func end(of index: Int) -> Int64 {
        guard index >> precision > 1 else { return Int64(index + 1) }
        let exponent = index >> precision + precision - 1
        let position = index & ((1 << precision) - 1)
        return Int64((1 << precision) + position + 1) << Int64(exponent - precision)
    }
}
