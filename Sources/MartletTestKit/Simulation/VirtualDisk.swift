import MartletWire

/// A file that is appended to: what was written and not yet synced may vanish, from the end, when the machine dies.
struct VirtualDisk<Record> {
    /// Everything written, in order.
    private(set) var records: [Record] = []
    /// How many of them are sure to be there after a crash.
    private(set) var syncedCount = 0

    var hasUnsynced: Bool { syncedCount < records.count }

    mutating func append(_ record: Record) {
        records.append(record)
    }

    /// Makes sure of all that was written before.
    mutating func sync() {
        syncedCount = records.count
    }

    /// The machine dies: some of what was not synced reached the disk all the same.
    ///
    /// - Returns: what is gone.
    mutating func crash(_ random: inout SeededRandom) -> [Record] {
        let unsynced = records.count - syncedCount
        let kept = syncedCount + Int(random.next() % UInt64(unsynced + 1))
        let lost = Array(records[kept...])
        records.removeSubrange(kept...)
        syncedCount = kept
        return lost
    }
}
