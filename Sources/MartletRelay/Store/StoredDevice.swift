import MartletLink

/// The stored form of a device's record (Specs/storage.md §3). Bytes from a file give nil, and never trap.
extension DeviceRecord {
    /// Creates a record from stored values; nil if one is not valid.
    package init?(counter: UInt64, seen: UInt64, gapBytes: [UInt8], digestBytes: [UInt8], usedAt: UInt64) {
        guard let gaps = Self.gaps(gapBytes), let digests = Self.digests(digestBytes),
            gaps.last.map({ $0.upperBound < counter }) ?? true, usedAt < UInt64(Int64.max)
        else { return nil }
        self.init(watermark: counter, seen: seen, gaps: gaps, digests: digests, usedAt: usedAt)
    }

    /// Each gap is two numbers of eight bytes.
    package var gapBytes: [UInt8] {
        gaps.flatMap { gap in
            [gap.lowerBound, gap.upperBound].flatMap { bound in
                stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bound >> UInt64($0)) }
            }
        }
    }

    /// Each digest is two bytes.
    package var digestBytes: [UInt8] {
        digests.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }

    /// Decodes gaps, which ascend; nil for invalid bytes.
    package static func gaps(_ bytes: [UInt8]) -> [ClosedRange<UInt64>]? {
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
