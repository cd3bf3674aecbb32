import MartletProtocol
import MartletWire

/// One room's messages, oldest first, and what is remembered of those that gave way.
struct MemoryLog {
    /// What a room, a device's counter, and a message beside its body take, in bytes.
    static let roomByteCount = 512
    static let deviceByteCount = 96
    static let entryByteCount = 128

    private var rows = LogRows(next: 1)
    private(set) var watermarks: [DeviceKey: UInt64] = [:]
    /// What was told of it last that does not give way, in bytes.
    private(set) var toldLasting = 0

    var head: UInt64 { rows.end - 1 }
    var first: UInt64 { rows.first }
    var isEmpty: Bool { rows.isEmpty }

    var lastingByteCount: Int { Self.roomByteCount + watermarks.count * Self.deviceByteCount }
    var byteCount: Int { lastingByteCount + rows.byteCount + rows.count * Self.entryByteCount }

    /// How much more of it does not give way than when it was asked last, in bytes.
    mutating func takeLastingChange() -> Int {
        defer { toldLasting = lastingByteCount }
        return lastingByteCount - toldLasting
    }

    mutating func append(_ new: [LogEntry], _ bounds: InMemoryStore.Bounds) throws(InMemoryStore.Failure) {
        for index in new.indices where new[index].offset != rows.end + UInt64(index) {
            throw .outOfOrder(head: head)
        }
        var start = 0
        while start < new.count {
            // A device's messages come in rows, and each row is one look into the table.
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

    /// Lets the oldest messages go that came together; false when there are none that may.
    mutating func letGo(keepsNewest: Bool) -> Bool {
        rows.removeFirstRow(keepsLast: keepsNewest)
    }

    private static func raise(_ watermark: inout UInt64, to counter: UInt64) {
        watermark = max(watermark, counter)
    }

    func read(_ range: ReadRange) -> [LogEntry] {
        var result: [LogEntry] = []
        var byteCount = 0
        var row = rows.row(from: max(range.from, first))
        while let entry = row.first, result.count < range.maxCount {
            byteCount += entry.body.byteCount
            guard result.isEmpty || byteCount <= range.maxByteCount else { break }
            result.append(entry)
            row = row.count > 1 ? row.dropFirst() : rows.row(from: entry.offset + 1)
        }
        return result
    }
}
