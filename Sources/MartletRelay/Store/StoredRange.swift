import MartletLink

/// Selects the messages of a range from stored batches, which are added in their order.
package struct StoredRange {
    /// The selected messages.
    package private(set) var history: RoomHistory
    /// The offset of the next message.
    package private(set) var next: UInt64
    private let range: ReadRange
    private let lastOffset: UInt64
    private var byteCount = 0
    private var isFull = false

    /// Begins with no messages.
    package init(_ range: ReadRange, firstOffset: UInt64, lastOffset: UInt64) {
        self.range = range
        self.lastOffset = lastOffset
        next = max(range.from, firstOffset)
        history = RoomHistory(entries: [], firstOffset: firstOffset)
    }

    /// Whether no further batch has messages of the range.
    package var isComplete: Bool {
        isFull || next > lastOffset || history.entries.count >= range.maxCount || byteCount >= range.maxByteCount
    }

    /// Adds the batch that has the next message. Returns false if it is damaged, or another batch.
    package mutating func add(firstOffset first: UInt64, count: Int64, _ bytes: [UInt8]) -> Bool {
        guard first <= next, let batch = try? StoredBatch.decode(bytes, firstOffset: first),
            batch.count == Int(count), next - first < UInt64(batch.count)
        else { return false }
        for entry in batch[Int(next - first)...] {
            byteCount += entry.body.byteCount
            isFull = !history.entries.isEmpty && byteCount > range.maxByteCount
            guard !isFull, history.entries.count < range.maxCount else { return true }
            history.entries.append(entry)
            next += 1
        }
        return true
    }
}
