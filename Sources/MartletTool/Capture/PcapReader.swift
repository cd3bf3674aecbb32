/// Reads the classic format of tcpdump: a header of 24 bytes, then packets behind 16 bytes each, in the byte order of
/// the machine that wrote it and in micro- or nanoseconds.
struct PcapReader: PacketReader {
    private static let headerByteCount = 24
    private static let recordByteCount = 16

    private let isLittleEndian: Bool
    private let nanosecondsPerTick: UInt64
    private var link: LinkType?

    /// A reader of a file that begins with these four bytes, as a number with the first byte as the most significant;
    /// `nil` when no such file does.
    init?(magic: UInt32) {
        switch magic {
        case 0xA1B2_C3D4: (isLittleEndian, nanosecondsPerTick) = (false, 1000)
        case 0xD4C3_B2A1: (isLittleEndian, nanosecondsPerTick) = (true, 1000)
        case 0xA1B2_3C4D: (isLittleEndian, nanosecondsPerTick) = (false, 1)
        case 0x4D3C_B2A1: (isLittleEndian, nanosecondsPerTick) = (true, 1)
        default: return nil
        }
    }

    mutating func next(from queue: inout ByteQueue) throws(CaptureError) -> CapturedPacket? {
        if link == nil {
            guard queue.count >= Self.headerByteCount else { return nil }
            // The upper bits tell of checksums behind Ethernet frames, which nobody looks at.
            link = LinkType(rawValue: queue.integer(at: 20, isLittleEndian: isLittleEndian) & 0xFFFF)
            queue.drop(Self.headerByteCount)
        }
        guard let link, queue.count >= Self.recordByteCount else { return nil }
        let byteCount: UInt32 = queue.integer(at: 8, isLittleEndian: isLittleEndian)
        guard byteCount <= CapturedPacket.maxByteCount else { throw queue.error("a packet of \(byteCount) bytes") }
        guard queue.count >= Self.recordByteCount + Int(byteCount) else { return nil }
        let seconds: UInt32 = queue.integer(at: 0, isLittleEndian: isLittleEndian)
        let ticks: UInt32 = queue.integer(at: 4, isLittleEndian: isLittleEndian)
        queue.drop(Self.recordByteCount)
        return CapturedPacket(
            time: UInt64(seconds) * 1_000_000_000 + UInt64(ticks) * nanosecondsPerTick, link: link,
            bytes: queue.take(Int(byteCount)))
    }
}
