#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The write-ahead log of a database (`NAME-wal`), read before SQLite reads it (Specs/hostile.md row 89).
///
/// SQLite ignores all frames from the first one on whose checksum is wrong, because a loss of power leaves such frames
/// in the last transaction. A transaction is synced before the next one is written. A wrong frame before a later
/// transaction was therefore damaged after its sync, and SQLite would lose synced transactions silently.
///
/// | first wrong frame | followed by | result |
/// |---|---|---|
/// | none, or of an earlier log, whose salts differ | | not damaged |
/// | of the last transaction | no frame that continues the checksum behind a commit | not damaged: perhaps not synced |
/// | of an earlier transaction | a frame that continues the checksum behind a commit | damaged |
package struct WriteAheadLog: ~Copyable {
    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24
    private static let pageByteCounts = (9...16).map { 1 << $0 }

    /// The checksum of a log, which each frame continues.
    private struct Sum: Equatable {
        var first: UInt32 = 0
        var second: UInt32 = 0

        init(_ bytes: [UInt8], at index: Int) {
            (first, second) = (word(bytes, index), word(bytes, index + 4))
        }

        init() {}

        /// Adds words of four bytes. The bounds of the range are multiples of eight.
        mutating func add(_ bytes: [UInt8], _ range: Range<Int>, isBigEndian: Bool) {
            precondition(range.upperBound <= bytes.count)
            unsafe bytes.withUnsafeBytes { buffer in
                // The storage of an array is aligned, and bytes can be read as any integer.
                let words = unsafe buffer.bindMemory(to: UInt32.self)
                let end = range.upperBound / 4
                var index = range.lowerBound / 4
                while index < end {
                    let (one, two) = unsafe (words[index], words[index + 1])
                    first &+= (isBigEndian ? one.bigEndian : one.littleEndian) &+ second
                    second &+= (isBigEndian ? two.bigEndian : two.littleEndian) &+ first
                    index += 2
                }
            }
        }

        /// Whether the sums differ by exactly one bit of a word. `unit` is the difference that the lowest bit of the
        /// word makes.
        func differs(from other: Sum, byOneBitOf unit: Sum) -> Bool {
            (0..<32).contains { bit in
                first &- other.first == unit.first << bit && second &- other.second == unit.second << bit
            }
        }
    }

    /// A frame: a page and its header.
    private struct Frame {
        var bytes: [UInt8]

        /// The number of pages of the database after a commit; 0 in all other frames.
        var commitSize: UInt32 {
            get { word(bytes, 4) }
            set { for index in 0..<4 { bytes[4 + index] = UInt8(truncatingIfNeeded: newValue >> (24 - 8 * index)) } }
        }
        var salts: ArraySlice<UInt8> { bytes[8..<16] }
        var sum: Sum { Sum(bytes, at: 16) }

        func sum(after sum: Sum, isBigEndian: Bool) -> Sum {
            var sum = sum
            sum.add(bytes, 0..<8, isBigEndian: isBigEndian)
            sum.add(bytes, WriteAheadLog.frameHeaderByteCount..<bytes.count, isBigEndian: isBigEndian)
            return sum
        }

        /// Whether the frame ends a transaction. One bit of the commit size may be wrong.
        func isCommit(after sum: Sum, isBigEndian: Bool) -> Bool {
            if commitSize != 0 { return true }
            // The checksum is a linear function of each word.
            var other = self
            other.commitSize = isBigEndian ? 1 : UInt32(1).byteSwapped
            let (zero, one) = (
                self.sum(after: sum, isBigEndian: isBigEndian), other.sum(after: sum, isBigEndian: isBigEndian)
            )
            var unit = Sum()
            (unit.first, unit.second) = (one.first &- zero.first, one.second &- zero.second)
            return self.sum.differs(from: zero, byOneBitOf: unit)
        }

        /// Whether SQLite has written the frame only to fill a sector behind another frame.
        func repeats(_ other: Frame) -> Bool {
            bytes[..<8] == other.bytes[..<8]
                && bytes[WriteAheadLog.frameHeaderByteCount...].elementsEqual(
                    other.bytes[WriteAheadLog.frameHeaderByteCount...])
        }
    }

    private let descriptor: Int32
    private let header: [UInt8]

    /// Whether synced frames of a database's log are damaged. A database without a log is not damaged.
    ///
    /// - Throws: `cannotOpen` if the log cannot be opened.
    package static func isDamaged(ofDatabase path: String) throws(DatabaseError) -> Bool {
        guard let log = try WriteAheadLog(ofDatabase: path) else { return false }
        return log.isDamaged()
    }

    /// Opens the log of a database; nil if it has none, or one without a header.
    private init?(ofDatabase path: String) throws(DatabaseError) {
        let descriptor = unsafe open(path + "-wal", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw .cannotOpen(path: path) }
            return nil
        }
        guard let header = Self.read(descriptor, Self.headerByteCount, at: 0) else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.header = header
    }

    deinit {
        close(descriptor)
    }

    private func isDamaged() -> Bool {
        let isBigEndian = word(header, 0) & 1 == 1
        let pageByteCount = Int(word(header, 8))
        var sum = headerSum(isBigEndian: isBigEndian)
        guard word(header, 0) | 1 == 0x377F_0683, Self.pageByteCounts.contains(pageByteCount),
            sum == Sum(header, at: 24)
        else { return hasFramesOfHeader }
        let salts = header[16..<24]
        var index = 0
        while let frame = frame(index, pageByteCount) {
            let next = frame.sum(after: sum, isBigEndian: isBigEndian)
            guard frame.salts.elementsEqual(salts), next == frame.sum else {
                return isSynced(frame, index, sum, salts: salts, isBigEndian: isBigEndian)
            }
            sum = next
            index += 1
        }
        return false
    }

    /// Whether a transaction follows that of a wrong frame.
    private func isSynced(
        _ wrong: Frame, _ index: Int, _ before: Sum, salts: ArraySlice<UInt8>, isBigEndian: Bool
    ) -> Bool {
        let pageByteCount = wrong.bytes.count - Self.frameHeaderByteCount
        // Either the frame's checksum is damaged or its contents.
        var sums = [wrong.sum, wrong.sum(after: before, isBigEndian: isBigEndian)]
        var isCommit = wrong.isCommit(after: before, isBigEndian: isBigEndian)
        var last = wrong
        var index = index + 1
        while let frame = frame(index, pageByteCount) {
            let isOfLog = frame.salts.elementsEqual(salts)
            if isOfLog, isCommit, !frame.repeats(last),
                sums.contains(where: { frame.sum(after: $0, isBigEndian: isBigEndian) == frame.sum })
            {
                return true
            }
            sums = isOfLog ? [frame.sum] : []
            isCommit = isOfLog && frame.commitSize != 0
            last = frame
            index += 1
        }
        return false
    }

    /// Whether the first frame continues the checksum of a header that is not valid. A header that was not written
    /// completely has other salts than the frames behind it, and another checksum.
    private var hasFramesOfHeader: Bool {
        for pageByteCount in Self.pageByteCounts {
            guard let frame = frame(0, pageByteCount) else { return false }
            for isBigEndian in [false, true] {
                for start in [Sum(header, at: 24), headerSum(isBigEndian: isBigEndian)]
                where frame.sum(after: start, isBigEndian: isBigEndian) == frame.sum {
                    return true
                }
            }
        }
        return false
    }

    private func headerSum(isBigEndian: Bool) -> Sum {
        var sum = Sum()
        sum.add(header, 0..<24, isBigEndian: isBigEndian)
        return sum
    }

    /// A frame; nil behind the last complete one.
    private func frame(_ index: Int, _ pageByteCount: Int) -> Frame? {
        let byteCount = Self.frameHeaderByteCount + pageByteCount
        return Self.read(descriptor, byteCount, at: Self.headerByteCount + index * byteCount).map { Frame(bytes: $0) }
    }

    private static func read(_ descriptor: Int32, _ byteCount: Int, at offset: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe pread(descriptor, buffer.baseAddress, byteCount, off_t(offset))
        }
        return count == byteCount ? bytes : nil
    }
}

/// Four bytes in network order.
private func word(_ bytes: [UInt8], _ index: Int) -> UInt32 {
    UInt32(bytes[index]) << 24 | UInt32(bytes[index + 1]) << 16 | UInt32(bytes[index + 2]) << 8
        | UInt32(bytes[index + 3])
}
