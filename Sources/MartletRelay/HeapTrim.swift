import MartletProtocol

/// When a relay gives freed memory back to the system: after what it holds has fallen by enough, and not too often.
///
/// The GNU C library keeps what was freed for what is allocated next, so a relay that was attacked once would look as
/// large ever after.
struct HeapTrim {
    /// The shortest time between two times.
    static let interval: Duration = .seconds(10)
    /// How much less has to be held at the most, in bytes.
    static let maxStepByteCount = 32 * 1024 * 1024

    /// How much less has to be held, in bytes.
    private let stepByteCount: Int
    /// The most that was held since the last time.
    private var peakByteCount = 0
    private var isOwed = false
    private var trimmedAt: Instant?

    /// - Parameter budget: what may be held, in bytes.
    init(budget: Int) {
        stepByteCount = min(budget / 8, Self.maxStepByteCount)
    }

    /// When it wants to be asked, though nothing happens.
    var deadline: Instant? {
        isOwed ? trimmedAt.map { $0 + Self.interval } : nil
    }

    /// So much is held now: whether memory is to be given back.
    mutating func isDue(_ byteCount: Int, now: Instant) -> Bool {
        peakByteCount = max(peakByteCount, byteCount)
        isOwed = peakByteCount - byteCount > stepByteCount
        guard isOwed, trimmedAt.map({ $0 + Self.interval <= now }) ?? true else { return false }
        isOwed = false
        peakByteCount = byteCount
        trimmedAt = now
        return true
    }
}
