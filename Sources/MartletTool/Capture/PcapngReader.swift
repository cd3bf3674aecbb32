/// Reads the newer format of Wireshark: blocks, each with its type and length; a section says the byte order, an
/// interface what its packets begin with and in which unit they are timed. Blocks of other types are passed over.
struct PcapngReader: PacketReader {
    /// What such a file begins with.
    static let sectionType: UInt32 = 0x0A0D_0D0A
    /// The longest block that is read, in bytes.
    static let maxBlockByteCount = CapturedPacket.maxByteCount + 4096
    /// The most interfaces of a section.
    static let maxInterfaceCount = 4096
    private static let byteOrderMagic: UInt32 = 0x1A2B_3C4D
    /// Type, length, and the length again at the end.
    private static let frameByteCount = 12

    private struct Interface {
        var link: LinkType
        var ticksPerSecond: UInt64 = 1_000_000
        var offsetSeconds: UInt64 = 0

        /// Nanoseconds since 1970; what 64 bits do not hold is the last moment that they do.
        func time(_ ticks: UInt64) -> UInt64 {
            let wide = ticks.multipliedFullWidth(by: 1_000_000_000)
            guard wide.high < ticksPerSecond else { return .max }
            let nanoseconds = ticksPerSecond.dividingFullWidth(wide).quotient
            let offset = offsetSeconds.multipliedReportingOverflow(by: 1_000_000_000)
            let sum = nanoseconds.addingReportingOverflow(offset.partialValue)
            return offset.overflow || sum.overflow ? .max : sum.partialValue
        }
    }

    private var isLittleEndian = false
    private var interfaces: [Interface] = []

    mutating func next(from queue: inout ByteQueue) throws(CaptureError) -> CapturedPacket? {
        while queue.count >= Self.frameByteCount {
            let type: UInt32 = queue.integer(at: 0, isLittleEndian: isLittleEndian)
            if type == Self.sectionType { try readByteOrder(queue) }
            let length: UInt32 = queue.integer(at: 4, isLittleEndian: isLittleEndian)
            guard length >= Self.frameByteCount, length <= Self.maxBlockByteCount, length.isMultiple(of: 4) else {
                throw queue.error("a block of \(length) bytes")
            }
            guard queue.count >= Int(length) else { return nil }
            guard queue.integer(at: Int(length) - 4, isLittleEndian: isLittleEndian) == length else {
                throw queue.error("a block with two different lengths")
            }
            let packet = try read(type, queue, end: Int(length) - 4)
            queue.drop(Int(length))
            if let packet { return packet }
        }
        return nil
    }

    private mutating func readByteOrder(_ queue: ByteQueue) throws(CaptureError) {
        switch queue.integer(at: 8, isLittleEndian: true) as UInt32 {
        case Self.byteOrderMagic: isLittleEndian = true
        case Self.byteOrderMagic.byteSwapped: isLittleEndian = false
        default: throw queue.error("a section without a byte order")
        }
        interfaces = []
    }

    /// Reads the block that waits first; its value ends at `end`.
    private mutating func read(
        _ type: UInt32, _ queue: ByteQueue, end: Int
    ) throws(CaptureError) -> CapturedPacket? {
        switch type {
        case 1:
            try readInterface(queue, end: end)
            return nil
        case 3:
            guard let interface = interfaces.first, end >= 12 else { throw queue.error("a packet of no interface") }
            let original: UInt32 = queue.integer(at: 8, isLittleEndian: isLittleEndian)
            let byteCount = min(UInt32(end - 12), original)
            return try packet(queue, interface, ticks: 0, byteCount: byteCount, start: 12, end: end)
        case 6:
            guard end >= 28 else { throw queue.error("a packet block without its fields") }
            let index: UInt32 = queue.integer(at: 8, isLittleEndian: isLittleEndian)
            guard index < interfaces.count else { throw queue.error("a packet of no interface") }
            let high: UInt32 = queue.integer(at: 12, isLittleEndian: isLittleEndian)
            let low: UInt32 = queue.integer(at: 16, isLittleEndian: isLittleEndian)
            let byteCount: UInt32 = queue.integer(at: 20, isLittleEndian: isLittleEndian)
            let ticks = UInt64(high) << 32 | UInt64(low)
            return try packet(
                queue, interfaces[Int(index)], ticks: ticks, byteCount: byteCount, start: 28, end: end)
        default:
            return nil
        }
    }

    private func packet(
        _ queue: ByteQueue, _ interface: Interface, ticks: UInt64, byteCount: UInt32, start: Int, end: Int
    ) throws(CaptureError) -> CapturedPacket {
        guard Int64(byteCount) <= Int64(end - start) else { throw queue.error("a packet longer than its block") }
        var value = queue
        value.drop(start)
        return CapturedPacket(
            time: interface.time(ticks), link: interface.link, bytes: value.take(Int(byteCount)))
    }

    private mutating func readInterface(_ queue: ByteQueue, end: Int) throws(CaptureError) {
        guard end >= 16 else { throw queue.error("an interface without its fields") }
        guard interfaces.count < Self.maxInterfaceCount else { throw queue.error("too many interfaces") }
        let number: UInt16 = queue.integer(at: 8, isLittleEndian: isLittleEndian)
        var interface = Interface(link: LinkType(rawValue: UInt32(number)))
        var offset = 16
        while offset + 4 <= end {
            let code: UInt16 = queue.integer(at: offset, isLittleEndian: isLittleEndian)
            let length: UInt16 = queue.integer(at: offset + 2, isLittleEndian: isLittleEndian)
            offset += 4
            guard offset + Int(length) <= end else { throw queue.error("an option longer than its block") }
            if code == 9, length >= 1 {
                interface.ticksPerSecond = try resolution(queue, queue.integer(at: offset, isLittleEndian: false))
            } else if code == 14, length >= 8 {
                interface.offsetSeconds = queue.integer(at: offset, isLittleEndian: isLittleEndian)
            }
            offset += (Int(length) + 3) / 4 * 4
        }
        interfaces.append(interface)
    }

    /// Ticks per second: 10 or, with the highest bit, 2 to a power.
    private func resolution(_ queue: ByteQueue, _ value: UInt8) throws(CaptureError) -> UInt64 {
        if value & 0x80 != 0, value & 0x7F < 64 { return 1 << UInt64(value & 0x7F) }
        guard value <= 19 else { throw queue.error("a time resolution that is not one") }
        return (0..<value).reduce(1) { product, _ in product * 10 }
    }
}
