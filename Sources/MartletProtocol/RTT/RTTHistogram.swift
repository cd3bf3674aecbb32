/// Counts round-trip times in fixed buckets, so that reports can say what the median and the 99th percentile were.
///
/// Every octave from 1 µs to 67 s has ``bucketsPerOctave`` buckets of equal width, so a quantile is at most 12.5 % too
/// high, never too low, whatever the distribution. The memory is taken with the first sample and never grows.
public struct RTTHistogram: Hashable, Sendable {
    /// Buckets for each doubling.
    public static let bucketsPerOctave = 8
    /// All buckets, those below 8 µs (one for each microsecond) included.
    public static let bucketCount = 192
    /// Longer samples are counted as this long.
    public static let maximumSample = Duration.microseconds((1 << 26) - 1)

    private var buckets: ContiguousArray<UInt32> = []
    /// How many samples were counted; at 2³² − 1 further ones are left out.
    public private(set) var count: UInt32 = 0

    /// A histogram without samples.
    public init() {}

    /// Counts one sample; what is below zero counts as zero.
    public mutating func record(_ roundTrip: Duration) {
        guard count < .max else { return }
        if buckets.isEmpty { buckets = ContiguousArray(repeating: 0, count: Self.bucketCount) }
        let microseconds = roundTrip.clamped(to: .zero...Self.maximumSample).nanoseconds / 1000
        buckets[Self.bucket(of: UInt64(microseconds))] += 1
        count += 1
    }

    /// The time that `percent` per cent of the samples do not exceed, as the upper end of its bucket; `nil` without
    /// samples.
    public func percentile(_ percent: Int) -> Duration? {
        guard count > 0 else { return nil }
        let rank = max((UInt64(count) * UInt64(min(max(percent, 0), 100)) + 99) / 100, 1)
        var seen: UInt64 = 0
        for (bucket, number) in buckets.enumerated() {
            seen += UInt64(number)
            if seen >= rank { return .microseconds(Self.upperEnd(of: bucket)) }
        }
        return nil
    }

    /// The median.
    public var p50: Duration? { percentile(50) }

    /// The 99th percentile.
    public var p99: Duration? { percentile(99) }

    static func bucket(of microseconds: UInt64) -> Int {
        guard microseconds >= 8 else { return Int(microseconds) }
        let octave = 63 - microseconds.leadingZeroBitCount
        return (octave - 2) * bucketsPerOctave + Int(microseconds >> UInt64(octave - 3)) & (bucketsPerOctave - 1)
    }

    static func upperEnd(of bucket: Int) -> Int64 {
        guard bucket >= 8 else { return Int64(bucket) }
        let octave = bucket / bucketsPerOctave + 2
        let width = Int64(1) << Int64(octave - 3)
        return (Int64(bucketsPerOctave + bucket % bucketsPerOctave) + 1) * width - 1
    }
}
