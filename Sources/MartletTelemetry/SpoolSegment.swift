import MartletWire

/// The bytes of a segment of a spool: records of a length, a checksum of length and line, and a line.
package enum SpoolSegment {
    /// The bytes before a line.
    static let headByteCount = 8
    /// The maximum number of bytes of a line.
    static let maxLineByteCount = 16 * 1024

    /// The records of a part of a segment.
    package struct Part: Equatable {
        /// The undamaged lines.
        package var lines: [[UInt8]] = []
        /// The bytes up to the first record that is incomplete in this part.
        package var byteCount = 0
        /// The bytes of records that are damaged.
        package var damagedByteCount = 0
    }

    /// Appends a record.
    static func append(_ line: [UInt8], to bytes: inout [UInt8]) {
        precondition((1...maxLineByteCount).contains(line.count), "a line has at most maxLineByteCount bytes")
        let length = bigEndian(UInt32(line.count))
        bytes += length
        bytes += bigEndian(CRC32.checksum(line.rawBytes, continuing: CRC32.checksum(length.rawBytes)))
        bytes += line
    }

    /// Reads the records of a part.
    ///
    /// A damaged record is skipped by its length. If the length is not possible, the rest of the segment is damaged.
    ///
    /// - Parameter isLast: Whether the segment ends with the part. An incomplete record at the end is the rest of a
    ///   write that was interrupted, and is no damage.
    package static func read(_ bytes: [UInt8], isLast: Bool) -> Part {
        var part = Part()
        while part.byteCount < bytes.count {
            let rest = bytes.count - part.byteCount
            guard rest >= headByteCount else { break }
            let head = part.byteCount
            let length = Int(number(bytes, at: head))
            guard (1...maxLineByteCount).contains(length) else {
                part.damagedByteCount += rest
                part.byteCount = bytes.count
                return part
            }
            guard length <= rest - headByteCount else { break }
            let line = Array(bytes[head + headByteCount..<head + headByteCount + length])
            let checksum = CRC32.checksum(
                line.rawBytes, continuing: CRC32.checksum(Array(bytes[head..<head + 4]).rawBytes))
            if checksum == number(bytes, at: head + 4) {
                part.lines.append(line)
            } else {
                part.damagedByteCount += headByteCount + length
            }
            part.byteCount += headByteCount + length
        }
        if isLast { part.byteCount = bytes.count }
        return part
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func number(_ bytes: [UInt8], at start: Int) -> UInt32 {
        bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
