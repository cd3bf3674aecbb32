import MartletDatabase
import MartletRelay

/// The columns of a row of the table of devices (Specs/storage.md §3).
extension DeviceRecord {
    /// The columns that a record is created from, in this order. The table of an older file has no digests.
    static func columns(in database: Database) throws -> String {
        let hasDigests = try database.schemaVersion() >= StoreSchema.digestVersion
        return "counter, seen, gaps, used_at, \(hasDigests ? "digests" : "x''")"
    }

    /// Reads the columns from an index on; nil if a value is not valid (R-158).
    init?(_ row: Statement, from index: Int32) {
        self.init(
            counter: row.uint64(index), seen: row.uint64(index + 1), gapBytes: row.bytes(index + 2),
            digestBytes: row.bytes(index + 4), usedAt: row.uint64(index + 3))
    }
}
