import MartletDatabase
import MartletLink
import MartletRelay
import MartletWire

/// The values of rows, each of which a damaged file can have changed. They are nil if no store writes them.
extension Statement {
    /// An offset or a time, whose increment does not overflow.
    func number(_ column: Int32) -> UInt64? {
        let value = uint64(column)
        return value < UInt64(Int64.max) ? value : nil
    }

    /// The progress of an account in a log with this last offset, in the columns delivered and read from one on.
    func progress(from column: Int32, lastOffset: UInt64) -> AccountProgress? {
        let progress = AccountProgress(delivered: uint64(column), read: uint64(column + 1))
        return max(progress.delivered, progress.read) <= lastOffset ? progress : nil
    }

    /// A batch without its messages, in the columns first_offset, count, byte_count and accepted_at from one on.
    func batchRow(from column: Int32) -> BatchRow? {
        guard let first = number(column), let count = number(column + 1), case let byteCount = int64(column + 2),
            0..<RoomRow.byteCountBound ~= byteCount,
            let acceptedAt = number(column + 3), first >= 1, count >= 1
        else { return nil }
        return BatchRow(firstOffset: first, count: count, byteCount: Int(byteCount), acceptedAt: acceptedAt)
    }
}

/// A row of the table `batches` without its messages.
struct BatchRow: Equatable {
    var firstOffset: UInt64
    var count: UInt64
    /// Bytes of the bodies.
    var byteCount: Int
    /// The time of the last message, in milliseconds since 1970.
    var acceptedAt: UInt64

    init(firstOffset: UInt64, count: UInt64, byteCount: Int, acceptedAt: UInt64) {
        (self.firstOffset, self.count, self.byteCount) = (firstOffset, count, byteCount)
        self.acceptedAt = acceptedAt
    }

    /// Whether this can be the row of messages, whose time the clock of R-155 raises.
    func isRow(of messages: BatchRow) -> Bool {
        var row = self
        row.acceptedAt = min(acceptedAt, messages.acceptedAt)
        return row == messages
    }

    /// The row of messages; nil without messages.
    init?(_ messages: [LogEntry]) {
        guard let first = messages.first, let last = messages.last else { return nil }
        self.init(
            firstOffset: first.offset, count: UInt64(messages.count),
            byteCount: messages.reduce(0) { $0 + $1.body.byteCount }, acceptedAt: last.acceptedAt)
    }
}
