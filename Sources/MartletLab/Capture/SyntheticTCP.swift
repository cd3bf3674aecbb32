import MartletDecode
import MartletTransport
import MartletWire

/// A TCP connection that never was, as packets: what its stream carried, with the headers that TCP would have put
/// around it. Nothing is lost, and everything is acknowledged with what goes the other way.
struct SyntheticTCP: Sendable {
    /// How many bytes of the stream a packet carries at most.
    static let segmentByteCount = 1448

    /// One of both sides.
    private struct End: Sendable {
        var address: SocketAddress
        /// The number of the next byte that it sends.
        var next: UInt32
        var hasEnded = false
    }

    /// The one that connected, and the one that accepted.
    private var ends: [End]
    private var wasReset = false
    private var packetNumber: UInt16 = 0

    /// A connection before its first packet; `seed` decides where both ways begin to count.
    init(from client: SocketAddress, to server: SocketAddress, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        ends = [client, server].map { End(address: $0, next: UInt32(truncatingIfNeeded: random.next())) }
    }

    /// Whether no more packets come.
    var isOver: Bool { wasReset || ends.allSatisfy(\.hasEnded) }

    /// The three packets that begin it.
    mutating func open() -> [[UInt8]] {
        let syn = packet(from: 0, .syn)
        ends[0].next &+= 1
        let answer = packet(from: 1, [.syn, .ack])
        ends[1].next &+= 1
        return [syn, answer, packet(from: 0, .ack)]
    }

    /// Packets with bytes from the side that connected (0) or the one that accepted (1).
    mutating func send(_ bytes: RawSpan, from index: Int) -> [[UInt8]] {
        guard !wasReset, !ends[index].hasEnded else { return [] }
        var packets: [[UInt8]] = []
        var offset = 0
        while offset < bytes.byteCount {
            let payload = bytes.extracting(droppingFirst: offset).extracting(first: Self.segmentByteCount)
            packets.append(packet(from: index, [.psh, .ack], payload))
            ends[index].next &+= UInt32(payload.byteCount)
            offset += payload.byteCount
        }
        return packets
    }

    /// The packets that end a side's way in order.
    mutating func end(_ index: Int) -> [[UInt8]] {
        guard !wasReset, !ends[index].hasEnded else { return [] }
        let fin = packet(from: index, [.fin, .ack])
        ends[index].next &+= 1
        ends[index].hasEnded = true
        return [fin, packet(from: 1 - index, .ack)]
    }

    /// The packet that ends it at once, unless it is over.
    mutating func reset() -> [[UInt8]] {
        if isOver { return [] }
        wasReset = true
        return [packet(from: 1, [.rst, .ack])]
    }

    private mutating func packet(
        from index: Int, _ flags: TCPSegment.Flags, _ payload: RawSpan = RawSpan()
    ) -> [UInt8] {
        packetNumber &+= 1
        let (source, target) = (ends[index], ends[1 - index])
        // Both in one family: an IPv4 address beside an IPv6 one is written as IPv6 has it.
        let isIPv6 = source.address.ip.isIPv6 || target.address.ip.isIPv6
        let addresses = Self.bytes(source.address.ip, isIPv6) + Self.bytes(target.address.ip, isIPv6)
        let segmentByteCount = 20 + payload.byteCount
        var segment: [UInt8] = []
        segment.append(bigEndian: source.address.port)
        segment.append(bigEndian: target.address.port)
        segment.append(bigEndian: source.next)
        segment.append(bigEndian: flags.contains(.ack) ? target.next : 0)
        segment += [0x50, flags.rawValue, 0xFF, 0xFF, 0, 0, 0, 0]
        segment.append(bytes: payload)
        var pseudoHeader = addresses
        pseudoHeader.append(bigEndian: UInt32(segmentByteCount))
        pseudoHeader.append(bigEndian: UInt32(6))
        Self.put(Self.checksum(pseudoHeader + segment), into: &segment, at: 16)
        return Self.header(addresses, segmentByteCount, number: packetNumber) + segment
    }

    private static func header(_ addresses: [UInt8], _ byteCount: Int, number: UInt16) -> [UInt8] {
        var header: [UInt8] = []
        if addresses.count == 32 {
            header.append(bigEndian: UInt32(0x6000_0000))
            header.append(bigEndian: UInt16(byteCount))
            header += [6, 64]
            return header + addresses
        }
        header.append(bigEndian: UInt16(0x4500))
        header.append(bigEndian: UInt16(20 + byteCount))
        header.append(bigEndian: number)
        header.append(bigEndian: UInt16(0x4000))
        header += [64, 6, 0, 0] + addresses
        put(checksum(header), into: &header, at: 10)
        return header
    }

    private static func bytes(_ ip: IPAddress, _ isIPv6: Bool) -> [UInt8] {
        isIPv6 && !ip.isIPv6 ? [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + ip.bytes : ip.bytes
    }

    /// The sum of the Internet (RFC 1071).
    static func checksum(_ bytes: [UInt8]) -> UInt16 {
        var sum: UInt32 = 0
        for index in stride(from: 0, to: bytes.count, by: 2) {
            let low = index + 1 < bytes.count ? bytes[index + 1] : 0
            sum += UInt32(bytes[index]) << 8 | UInt32(low)
            sum = (sum & 0xFFFF) + sum >> 16
        }
        return ~UInt16(truncatingIfNeeded: sum)
    }

    private static func put(_ number: UInt16, into bytes: inout [UInt8], at offset: Int) {
        bytes[offset] = UInt8(number >> 8)
        bytes[offset + 1] = UInt8(number & 0xFF)
    }
}
