import MartletLink

/// Receipts that a member may send before they count as frames without progress: two for each frame that it was sent,
/// one for each kind (S-59).
///
/// It owns a count of receipts and the sequence up to which sent frames were counted.
struct ReceiptAllowance: Equatable, Sendable {
    /// The maximum number of receipts that accumulate while a member sends none.
    static let maxCount: UInt64 = 1024

    private var count: UInt64 = 0
    private var counted: UInt64 = 0

    /// A receipt was received; false when it exceeds the allowance.
    ///
    /// - Parameter end: the sequence of the next frame to the member's session.
    mutating func take(end: UInt64) -> Bool {
        count = min(count + 2 * min(end - min(counted, end), ReceiptAllowance.maxCount), ReceiptAllowance.maxCount)
        counted = end
        guard count > 0 else { return false }
        count -= 1
        return true
    }
}
