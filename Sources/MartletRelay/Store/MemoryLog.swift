import MartletLink
import MartletWire

/// The messages of one room, oldest first, and the counters of devices and the progress of accounts, which outlive
/// them. A device's counters are kept until it has not published for a lifetime and none of its messages is left
///
struct MemoryLog {
    /// The sizes of a room, of a device's counters, of an account's progress, and of a message without its body, in
    /// bytes.
    static let roomByteCount = 512
    static let deviceByteCount = 256
    static let progressByteCount = 96
    static let entryByteCount = 128
    /// The maximum number of accounts with progress in a room.
    static let maxAccounts = 4096

    private var rows = LogRows(next: 1)
    private(set) var devices: [DeviceKey: DeviceRecord] = [:]
    private(set) var progress: [AccountName: AccountProgress] = [:]
    /// The number of devices beyond which unused devices are removed.
    private var sweepCount = 64

    var lastOffset: UInt64 { rows.end - 1 }
    var firstOffset: UInt64 { rows.first }
    var isEmpty: Bool { rows.isEmpty }

    var metadataByteCount: Int {
        Self.roomByteCount + devices.count * Self.deviceByteCount + progress.count * Self.progressByteCount
    }
    var byteCount: Int { metadataByteCount + rows.byteCount + rows.count * Self.entryByteCount }

    /// Appends messages, and removes old ones beyond the store's bounds, or the room's own.
    mutating func append(
        _ new: [LogEntry], _ bounds: InMemoryStore.Bounds, _ retention: RoomRetention = RoomRetention()
    ) throws(InMemoryStore.Failure) {
        for index in new.indices where new[index].offset != rows.end + UInt64(index) {
            throw .outOfOrder(lastOffset: lastOffset)
        }
        var start = 0
        while start < new.count {
            // Consecutive messages of a device share one table lookup.
            let first = start
            repeat { start += 1 } while start < new.count && new[start].hasSameDevice(as: new[start - 1])
            let device = DeviceKey(account: new[first].sender, device: new[first].device)
            devices[device, default: DeviceRecord()].insert(countersOf: new[first..<start])
        }
        rows.append(new[...])
        rows.trim(
            to: LogRows.Bounds(
                minCount: 1, maxCount: retention.maxCount.map { Int(clamping: $0) } ?? bounds.maxMessagesPerRoom,
                maxByteCount: retention.maxByteCount.map { Int(clamping: $0) } ?? bounds.maxByteCountPerRoom))
        if let maxAge = retention.maxAge, let now = new.last?.acceptedAt { removeOld(before: now - min(now, maxAge)) }
        sweep()
    }

    /// Removes the oldest batches that were accepted before a time, except the newest one.
    private mutating func removeOld(before cutoff: UInt64) {
        while let last = rows.row(from: firstOffset).last, last.acceptedAt < cutoff,
            rows.removeFirstRow(keepsLast: true)
        {}
    }

    /// Whether the counters of a device of the account are kept.
    func hasDevice(of account: AccountName) -> Bool { devices.keys.contains { $0.account == account } }

    /// Replaces the bodies of erased messages that are kept.
    mutating func erase(_ erasures: [MessageErasure]) { rows.erase(erasures) }

    /// Removes the oldest batch; false if there is none that may be removed.
    mutating func removeOldest(keepsNewest: Bool) -> Bool {
        rows.removeFirstRow(keepsLast: keepsNewest)
    }

    /// Removes the devices that have not published for a lifetime and have no messages left. The time is that of
    /// the newest message.
    private mutating func sweep() {
        guard devices.count > sweepCount, let newest = rows.row(from: rows.end - 1).first?.acceptedAt else { return }
        var owners: Set<DeviceKey> = []
        for entry in read(ReadRange(from: firstOffset, maxCount: .max, maxByteCount: .max)) {
            owners.insert(DeviceKey(account: entry.sender, device: entry.device))
        }
        devices = devices.filter {
            $0.value.usedAt + DeviceRecord.lifetime > newest || owners.contains($0.key)
        }
        sweepCount = max(64, 2 * devices.count)
    }

    /// Raises the progress of accounts, and adds accounts up to a maximum.
    mutating func save(_ new: [AccountName: AccountProgress]) {
        for (account, marks) in new where progress[account] != nil || progress.count < Self.maxAccounts {
            let old = progress[account] ?? AccountProgress()
            progress[account] = AccountProgress(
                delivered: max(old.delivered, marks.delivered), read: max(old.read, marks.read))
        }
    }

    /// The message at an offset that is kept.
    func message(at offset: UInt64) -> LogEntry? { rows.row(from: offset).first }

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
