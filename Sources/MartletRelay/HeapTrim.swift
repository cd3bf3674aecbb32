import MartletLink

/// The times at which a relay returns freed memory to the system: after the used memory has fallen by a step, and at
/// most once in an interval.
///
/// The GNU C library keeps freed memory for later allocations. Without trimming, a relay would keep the size of its
/// highest load.
struct HeapTrim {
    /// The minimum duration between two trims, which release freed memory to the system.
    static let interval: Duration = .seconds(10)
    /// The maximum step, in bytes.
    static let maxStepByteCount = 32 * 1024 * 1024

    /// The fall of the used memory that causes a trim, in bytes.
    private let stepByteCount: Int
    /// The highest use since the last trim, in bytes.
    private var peakByteCount = 0
    private var isPending = false
    private var trimmedAt: Instant?

    /// - Parameter budget: The memory budget in bytes.
    init(budget: Int) {
        stepByteCount = min(budget / 8, Self.maxStepByteCount)
    }

    /// The time at which `isDue` must be called without an event.
    var deadline: Instant? {
        isPending ? trimmedAt.map { $0 + Self.interval } : nil
    }

    /// Records the used memory. Returns whether to trim now.
    mutating func isDue(_ byteCount: Int, now: Instant) -> Bool {
        peakByteCount = max(peakByteCount, byteCount)
        isPending = peakByteCount - byteCount > stepByteCount
        guard isPending, trimmedAt.map({ $0 + Self.interval <= now }) ?? true else { return false }
        isPending = false
        peakByteCount = byteCount
        trimmedAt = now
        return true
    }
}
