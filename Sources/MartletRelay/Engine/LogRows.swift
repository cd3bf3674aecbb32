package import MartletLink
import MartletWire

/// The last messages of a log, oldest first, in the arrays in which they were stored. Queues share these rows, and only
/// the bytes of single messages are counted.
///
/// The bounds apply to messages. A row that was removed in part keeps all of its memory.
package struct LogRows: Sendable {
    /// The bounds of the kept part of a log.
    package struct Bounds: Sendable {
        var minCount: Int
        var maxCount: Int
        var maxByteCount: Int

        /// - Parameters:
        ///   - minCount: the number of messages that are kept regardless of their length.
        ///   - maxCount: the maximum number of messages.
        ///   - maxByteCount: the maximum number of bytes of bodies.
        package init(minCount: Int = 0, maxCount: Int, maxByteCount: Int) {
            self.minCount = minCount
            self.maxCount = maxCount
            self.maxByteCount = maxByteCount
        }
    }

    private struct Row: Sendable {
        var entries: ArraySlice<LogEntry>
        /// Bytes of the bodies.
        var byteCount: Int
        /// Bytes of the last body.
        let lastByteCount: Int

        init?(_ entries: ArraySlice<LogEntry>) {
            guard let last = entries.last?.body.byteCount else { return nil }
            self.entries = entries
            byteCount = 0
            lastByteCount = last
            for index in entries.indices { byteCount += entries[index].body.byteCount }
        }
    }

    private var rows = Deque<Row>()
    /// The number of messages.
    package private(set) var count = 0
    /// Bytes of the bodies.
    package private(set) var byteCount = 0
    /// The offset of the first message; without messages the offset of the next one.
    package private(set) var first: UInt64

    /// Creates rows without messages, of a log with this next offset.
    package init(next: UInt64) {
        first = next
    }

    package var isEmpty: Bool { count == 0 }
    /// The offset behind the last message.
    package var end: UInt64 { first + UInt64(count) }

    /// Appends messages, whose offsets follow the last one.
    package mutating func append(_ row: ArraySlice<LogEntry>) {
        guard let row = Row(row) else { return }
        count += row.entries.count
        byteCount += row.byteCount
        rows.append(row)
    }

    /// Replaces the bodies of erased messages. A row with one of them gets bodies of its own, because the earlier ones
    /// may share a storage with the replaced one.
    package mutating func erase(_ erasures: [MessageErasure]) {
        guard let least = erasures.map(\.offset).min(), let start = rowIndex(of: max(least, first)) else { return }
        for index in rows.indices.dropFirst(start) {
            var entries = rows[index].entries
            var isChanged = false
            for position in entries.indices {
                guard let erased = erasures.erased(entries[position]) else { continue }
                entries[position] = erased
                isChanged = true
            }
            guard isChanged else { continue }
            for position in entries.indices { entries[position].body = entries[position].body.detached() }
            guard let row = Row(entries) else { continue }
            byteCount += row.byteCount - rows[index].byteCount
            rows[index] = row
        }
    }

    /// Removes the oldest messages that exceed the bounds.
    package mutating func trim(to bounds: Bounds) {
        while Self.isOver(bounds, count, byteCount), !rows.isEmpty {
            let rowCount = rows[0].entries.count
            let others = byteCount - rows[0].byteCount
            // Usually the whole row is removed, without access to its messages, which are not in the cache.
            if Self.isOver(bounds, count - rowCount + 1, others + rows[0].lastByteCount) {
                byteCount = others
                count -= rowCount
                first += UInt64(rowCount)
                rows.removeFirst(1)
            } else {
                trimFirstRow(to: bounds)
            }
        }
    }

    /// Removes the oldest row and its memory; false when there is none, or only the newest one, which is kept.
    package mutating func removeFirstRow(keepsLast: Bool) -> Bool {
        guard rows.count > (keepsLast ? 1 : 0) else { return false }
        byteCount -= rows[0].byteCount
        count -= rows[0].entries.count
        first += UInt64(rows[0].entries.count)
        rows.removeFirst(1)
        return true
    }

    private mutating func trimFirstRow(to bounds: Bounds) {
        let before = byteCount
        let entries = rows[0].entries
        var index = entries.startIndex
        while Self.isOver(bounds, count, byteCount) {
            byteCount -= entries[index].body.byteCount
            count -= 1
            first += 1
            index += 1
        }
        rows[0].entries = entries[index...]
        rows[0].byteCount -= before - byteCount
    }

    private static func isOver(_ bounds: Bounds, _ count: Int, _ byteCount: Int) -> Bool {
        count > bounds.maxCount || byteCount > bounds.maxByteCount && count > bounds.minCount
    }

    /// The messages of one row from an offset on; empty when the offset is not in memory.
    package func row(from offset: UInt64) -> ArraySlice<LogEntry> {
        guard let index = rowIndex(of: offset) else { return [] }
        return rows[index].entries.dropFirst(Int(offset - firstOffset(ofRow: index)))
    }

    @inline(__always)
    private func rowIndex(of offset: UInt64) -> Int? {
        guard offset >= first, offset < end else { return nil }
        var low = 0
        var high = rows.count
        // Usually the last row has the offset.
        if firstOffset(ofRow: high - 1) <= offset { low = high - 1 }
        while high - low > 1 {
            let middle = (low + high) / 2
            if firstOffset(ofRow: middle) <= offset { low = middle } else { high = middle }
        }
        return low
    }

    package subscript(offset: UInt64) -> LogEntry? { row(from: offset).first }

    private func firstOffset(ofRow index: Int) -> UInt64 {
        let entries = rows[index].entries
        return entries[entries.startIndex].offset
    }
}
