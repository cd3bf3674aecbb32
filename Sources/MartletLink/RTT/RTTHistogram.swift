/// A histogram of round-trip times with fixed buckets, for the median and the 99th percentile.
///
/// Each octave from 1 µs to 67 s has ``bucketsPerOctave`` buckets of equal width, so a percentile is at most 12.5 % too
/// high and never too low. The memory is allocated with the first sample and has a fixed size.
package struct RTTHistogram: Hashable, Sendable {
    /// The number of buckets of each octave.
    package static let bucketsPerOctave = 8
    /// The number of buckets, including one for each microsecond below 8 µs.
    package static let bucketCount = 192
    /// The maximum sample. Longer samples count as this duration.
    package static let maximumSample = Duration.microseconds((1 << 26) - 1)

    private var buckets: ContiguousArray<UInt32> = []
    /// The number of samples, at most 2³² − 1. Further samples are ignored.
    package private(set) var count: UInt32 = 0

    /// Creates a histogram without samples.
    package init() {}

    /// Adds a sample. A negative duration counts as zero.
    package mutating func record(_ roundTrip: Duration) {
        guard count < .max else { return }
        if buckets.isEmpty { buckets = ContiguousArray(repeating: 0, count: Self.bucketCount) }
        let microseconds = roundTrip.clamped(to: .zero...Self.maximumSample).nanoseconds / 1000
        buckets[Self.bucket(of: UInt64(microseconds))] += 1
        count += 1
    }

    /// Returns the duration that `percent` per cent of the samples do not exceed, as the upper bound of its bucket; nil
    /// without samples.
    package func percentile(_ percent: Int) -> Duration? {
        guard count > 0 else { return nil }
        let rank = max((UInt64(count) * UInt64(min(max(percent, 0), 100)) + 99) / 100, 1)
        var seen: UInt64 = 0
        for (bucket, number) in buckets.enumerated() {
            seen += UInt64(number)
            if seen >= rank { return .microseconds(Self.upperEnd(of: bucket)) }
        }
        return nil
    }

    /// The median; nil without samples.
    package var p50: Duration? { percentile(50) }

    /// The 99th percentile; nil without samples.
    package var p99: Duration? { percentile(99) }

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
