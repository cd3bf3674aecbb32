package import MartletWire

/// Deadlines by key.
package typealias TimerQueue<Key: Hashable & Sendable> = DeadlineQueue<Key, Instant>
/// Deadlines by slot number.
package typealias SlotTimers = DeadlineHeap<Instant>

/// A point on a monotonic clock that the caller owns: nanoseconds since an origin the caller chose (C-53).
///
/// The protocol core reads no clock: every event brings its instant along.
public struct Instant: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's origin.
    public var nanoseconds: UInt64

    /// The clock's origin.
    @inlinable public static var zero: Instant { Instant(nanoseconds: 0) }
    /// Later than every instant that a clock can show.
    @inlinable public static var distantFuture: Instant { Instant(nanoseconds: .max) }

    /// An instant that many nanoseconds after the clock's origin.
    @inlinable
    public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// Whether `left` is the earlier.
    @inlinable
    public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant `duration` later; saturates at both ends of the clock.
    @inlinable
    public static func + (instant: Instant, duration: Duration) -> Instant {
        let sum = Int64(clamping: instant.nanoseconds).addingReportingOverflow(duration.nanoseconds)
        if sum.overflow { return duration < .zero ? .zero : .distantFuture }
        return Instant(nanoseconds: UInt64(clamping: sum.partialValue))
    }

    /// The time from `right` to `left`, negative when `left` is the earlier.
    @inlinable
    public static func - (left: Instant, right: Instant) -> Duration {
        .nanoseconds(Int64(clamping: left.nanoseconds) - Int64(clamping: right.nanoseconds))
    }
}

extension Instant {
    /// The duration until this instant in whole milliseconds, rounded up, as a refusal names it: whoever waits for it
    /// is not early (S-64, S-65).
    package func retryAfter(now: Instant) -> Duration {
        .milliseconds((max(self - now, .zero).nanoseconds + 999_999) / 1_000_000)
    }
}

extension Instant? {
    /// The earlier of both, where nil is never.
    @inlinable
    package func orEarlier(_ other: Instant?) -> Instant? {
        guard let self, let other else { return self ?? other }
        return Swift.min(self, other)
    }
}

extension Duration {
    /// The whole duration in nanoseconds, clamped to 64 bits (±292 years).
    @inlinable
    package var nanoseconds: Int64 {
        let attoseconds = attoseconds
        // Up to two hours, by 2^9 and then 5^9: a division of 128 bits costs as much as the rest that is done for a
        // frame.
        if attoseconds >= 0, let few = UInt64(exactly: attoseconds >> 9) { return Int64(few / 1_953_125) }
        return Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// The whole duration in milliseconds, rounded towards zero.
    @inlinable
    package var milliseconds: Int64 {
        nanoseconds / 1_000_000
    }
}
