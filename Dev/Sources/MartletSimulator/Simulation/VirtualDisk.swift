import MartletWire

/// An append-only file. A crash may remove unsynced records from its end.
struct VirtualDisk<Record> {
    /// All written records, in order.
    private(set) var records: [Record] = []
    /// The number of records that survive a crash.
    private(set) var syncedCount = 0

    var hasUnsynced: Bool { syncedCount < records.count }

    mutating func append(_ record: Record) {
        records.append(record)
    }

    /// Syncs all written records.
    mutating func sync() {
        syncedCount = records.count
    }

    /// Crashes the machine. A random number of unsynced records survives.
    ///
    /// - Returns: The lost records.
    mutating func crash(_ random: inout SeededRandom) -> [Record] {
        let unsynced = records.count - syncedCount
        let kept = syncedCount + Int(random.next() % UInt64(unsynced + 1))
        let lost = Array(records[kept...])
        records.removeSubrange(kept...)
        syncedCount = kept
        return lost
    }
}
