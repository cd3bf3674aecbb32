import MartletDatabase
import MartletLink
import MartletRelay

/// The columns of a row of the table of devices, and their values (Specs/storage.md §3).
extension DeviceRecord {
    /// The columns that a record is created from, in this order. The table of an older file has no digests.
    static func columns(in database: Database) throws -> String {
        let hasDigests = try database.schemaVersion() >= StoreSchema.digestVersion
        return "counter, seen, gaps, used_at, \(hasDigests ? "digests" : "x''")"
    }

    /// Reads the columns from an index on; nil if a value is not valid (R-158).
    init?(_ row: Statement, from index: Int32) {
        guard let gaps = Self.gaps(row.bytes(index + 2)), let digests = Self.digests(row.bytes(index + 4)),
            gaps.last.map({ $0.upperBound < row.uint64(index) }) ?? true, let usedAt = row.number(index + 3)
        else { return nil }
        self.init(
            watermark: row.uint64(index), seen: row.uint64(index + 1), gaps: gaps, digests: digests, usedAt: usedAt)
    }

    /// Each gap is two numbers of eight bytes.
    var gapBytes: [UInt8] {
        gaps.flatMap { gap in
            [gap.lowerBound, gap.upperBound].flatMap { bound in
                stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bound >> UInt64($0)) }
            }
        }
    }

    /// Each digest is two bytes.
    var digestBytes: [UInt8] {
        digests.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }

    /// Decodes gaps, which ascend; nil for invalid bytes.
    static func gaps(_ bytes: [UInt8]) -> [ClosedRange<UInt64>]? {
        guard bytes.count % 16 == 0 else { return nil }
        var gaps: [ClosedRange<UInt64>] = []
        for start in stride(from: 0, to: bytes.count, by: 16) {
            let first = bytes[start..<start + 8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            let last = bytes[start + 8..<start + 16].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            guard first <= last, first > gaps.last?.upperBound ?? 0 else { return nil }
            gaps.append(first...last)
        }
        return gaps
    }

    private static func digests(_ bytes: [UInt8]) -> [UInt16]? {
        guard bytes.isEmpty || bytes.count == 2 * digestCount else { return nil }
        return stride(from: 0, to: bytes.count, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    }
}
