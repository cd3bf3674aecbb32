package import MartletLink
import MartletWire

/// The stored form of consecutive messages of a room, version 1 (Specs/storage.md §2, R-67).
///
/// Bytes from a file give an error, and never trap.
package enum StoredBatch {
    /// The bytes of bodies in a batch beyond which the next message begins a new batch.
    package static let maxByteCount = 64 * 1024
    private static let version: UInt8 = 1
    /// The bytes of the checksum at the end.
    private static let checksumByteCount = 4
    /// The maximum number of bytes of a length, a counter or a time.
    private static let maxNumberByteCount = 10

    /// The reason why bytes are not a valid batch.
    package enum Fault: Error, Equatable, Sendable {
        /// The version is not known.
        case version(UInt8)
        /// The checksum differs.
        case checksum
        /// The bytes end within a field, or a field is not valid.
        case malformed
    }

    /// Divides messages into batches of at most `maxByteCount`, or of one longer message.
    package static func divide(_ entries: [LogEntry]) -> [(entries: ArraySlice<LogEntry>, byteCount: Int)] {
        var batches: [(ArraySlice<LogEntry>, Int)] = []
        var start = 0
        while start < entries.count {
            var (end, byteCount) = (start, 0)
            repeat {
                byteCount += entries[end].body.byteCount
                end += 1
            } while end < entries.count && byteCount + entries[end].body.byteCount <= maxByteCount
            batches.append((entries[start..<end], byteCount))
            start = end
        }
        return batches
    }

    /// The first messages of which the batch has at most this number of bytes.
    package static func prefix(of entries: ArraySlice<LogEntry>, maxByteCount: Int) -> ArraySlice<LogEntry> {
        var byteCount = 1 + checksumByteCount
        for index in entries.indices {
            let isSame = index > entries.startIndex && entries[index].hasSameDevice(as: entries[index - 1])
            byteCount += entries[index].body.byteCount + 3 * maxNumberByteCount
            if !isSame { byteCount += maxNumberByteCount + entries[index].sender.text.utf8.count + 8 }
            guard byteCount <= maxByteCount else { return entries[..<index] }
        }
        return entries
    }

    /// The bytes of messages with consecutive offsets.
    package static func encode(_ entries: ArraySlice<LogEntry>) -> [UInt8] {
        var bytes: [UInt8] = []
        var byteCount = 64
        for index in entries.indices { byteCount += entries[index].body.byteCount + 8 }
        bytes.reserveCapacity(byteCount)
        bytes.append(version)
        var counter: UInt64 = 0
        var acceptedAt: UInt64 = 0
        for index in entries.indices {
            let entry = entries[index]
            let isSame = index > entries.startIndex && entry.hasSameDevice(as: entries[index - 1])
            append(UInt64(entry.body.byteCount) << 1 | (isSame ? 1 : 0), to: &bytes)
            if !isSame {
                append(UInt64(entry.sender.text.utf8.count), to: &bytes)
                bytes += entry.sender.text.utf8
                for shift in stride(from: 56, through: 0, by: -8) {
                    bytes.append(UInt8(truncatingIfNeeded: entry.device.rawValue >> UInt64(shift)))
                }
                counter = 0
            }
            append(zigzag(entry.counter &- counter &- 1), to: &bytes)
            append(zigzag(entry.acceptedAt &- acceptedAt), to: &bytes)
            (counter, acceptedAt) = (entry.counter, entry.acceptedAt)
            bytes.append(bytes: entry.body.rawBytes)
        }
        let checksum = CRC32.checksum(bytes.rawBytes)
        for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: checksum >> shift)) }
        return bytes
    }

    /// The messages of a batch.
    package static func decode(_ bytes: [UInt8], firstOffset: UInt64) throws(Fault) -> [LogEntry] {
        guard bytes.count > checksumByteCount else { throw .malformed }
        let end = bytes.count - checksumByteCount
        var checksum: UInt32 = 0
        for index in end..<bytes.count { checksum = checksum << 8 | UInt32(bytes[index]) }
        guard CRC32.checksum(bytes.rawBytes.extracting(0..<end)) == checksum else { throw .checksum }
        guard bytes[0] == version else { throw .version(bytes[0]) }
        guard firstOffset >= 1, firstOffset < UInt64(Int64.max) else { throw .malformed }
        var cursor = Cursor(bytes: bytes, position: 1, end: end)
        var entries: [LogEntry] = []
        var publisher: (account: AccountName, device: DeviceID)?
        var counter: UInt64 = 0
        var acceptedAt: UInt64 = 0
        while cursor.position < end {
            let head = try cursor.number()
            if head & 1 == 0 {
                publisher = try cursor.publisher()
                counter = 0
            }
            guard let publisher else { throw .malformed }
            counter = counter &+ 1 &+ unzigzag(try cursor.number())
            acceptedAt = acceptedAt &+ unzigzag(try cursor.number())
            guard counter >= 1, acceptedAt < UInt64(Int64.max) else { throw .malformed }
            let body = EncodedBody(try cursor.bytes(head >> 1))
            entries.append(
                LogEntry(
                    offset: firstOffset &+ UInt64(entries.count), sender: publisher.account, device: publisher.device,
                    counter: counter, acceptedAt: acceptedAt, body: body))
        }
        return entries
    }

    // MARK: Numbers

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// A difference as a number that is small when the difference is small.
    private static func zigzag(_ difference: UInt64) -> UInt64 {
        let number = Int64(bitPattern: difference)
        return UInt64(bitPattern: (number << 1) ^ (number >> 63))
    }

    private static func unzigzag(_ number: UInt64) -> UInt64 {
        (number >> 1) ^ (0 &- (number & 1))
    }

    private struct Cursor {
        let bytes: [UInt8]
        var position: Int
        let end: Int

        mutating func number() throws(Fault) -> UInt64 {
            var value: UInt64 = 0
            var shift: UInt64 = 0
            while true {
                guard position < end, shift < 64 else { throw .malformed }
                let byte = UInt64(bytes[position])
                position += 1
                guard shift < 63 || byte < 2 else { throw .malformed }
                value |= (byte & 0x7F) << shift
                if byte < 0x80 { return value }
                shift += 7
            }
        }

        mutating func bytes(_ count: UInt64) throws(Fault) -> [UInt8] {
            guard count <= UInt64(end - position) else { throw .malformed }
            let start = position
            position += Int(count)
            return Array(bytes[start..<position])
        }

        mutating func publisher() throws(Fault) -> (account: AccountName, device: DeviceID) {
            let name = try bytes(try number())
            guard let text = String(validating: name, as: UTF8.self), let account = AccountName(text) else {
                throw .malformed
            }
            let device = try bytes(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            return (account, DeviceID(rawValue: device))
        }
    }
}
