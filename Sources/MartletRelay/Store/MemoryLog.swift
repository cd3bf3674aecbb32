import MartletProtocol
import MartletWire

/// The messages of one room, oldest first, and the highest counter of each device, which outlives them.
struct MemoryLog {
    /// The sizes of a room, of a device's counter, and of a message without its body, in bytes.
    static let roomByteCount = 512
    static let deviceByteCount = 96
    static let entryByteCount = 128

    private var rows = LogRows(next: 1)
    private(set) var watermarks: [DeviceKey: UInt64] = [:]

    var lastOffset: UInt64 { rows.end - 1 }
    var firstOffset: UInt64 { rows.first }
    var isEmpty: Bool { rows.isEmpty }

    var metadataByteCount: Int { Self.roomByteCount + watermarks.count * Self.deviceByteCount }
    var byteCount: Int { metadataByteCount + rows.byteCount + rows.count * Self.entryByteCount }

    mutating func append(_ new: [LogEntry], _ bounds: InMemoryStore.Bounds) throws(InMemoryStore.Failure) {
        for index in new.indices where new[index].offset != rows.end + UInt64(index) {
            throw .outOfOrder(lastOffset: lastOffset)
        }
        var start = 0
        while start < new.count {
            // Consecutive messages of a device share one table lookup.
            let device = DeviceKey(account: new[start].sender, device: new[start].device)
            var highest: UInt64 = 0
            repeat {
                highest = max(highest, new[start].counter)
                start += 1
            } while start < new.count && new[start].hasSameDevice(as: new[start - 1])
            Self.raise(&watermarks[device, default: 0], to: highest)
        }
        rows.append(new[...])
        rows.trim(
            to: LogRows.Bounds(
                minCount: 1, maxCount: bounds.maxMessagesPerRoom, maxByteCount: bounds.maxByteCountPerRoom))
    }

    /// Removes the oldest batch; false if there is none that may be removed.
    mutating func removeOldest(keepsNewest: Bool) -> Bool {
        rows.removeFirstRow(keepsLast: keepsNewest)
    }

    private static func raise(_ watermark: inout UInt64, to counter: UInt64) {
        watermark = max(watermark, counter)
    }

    func read(_ range: ReadRange) -> [LogEntry] {
        var result: [LogEntry] = []
        var byteCount = 0
        var row = rows.row(from: max(range.from, firstOffset))
        while let entry = row.first, result.count < range.maxCount {
            byteCount += entry.body.byteCount
            guard result.isEmpty || byteCount <= range.maxByteCount else { break }
            result.append(entry)
            row = row.count > 1 ? row.dropFirst() : rows.row(from: entry.offset + 1)
        }
        return result
    }
}
