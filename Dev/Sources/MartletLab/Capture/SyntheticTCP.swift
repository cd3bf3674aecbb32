import MartletDecode
import MartletTransport
import MartletWire

/// A generated TCP connection: packets with the bytes of a stream and the headers that TCP would add. No packet is
/// lost, and the next packet in the other direction acknowledges all bytes.
struct SyntheticTCP: Sendable {
    /// The maximum number of bytes of the stream in a packet.
    static let segmentByteCount = 1448

    /// One endpoint of the connection.
    private struct End: Sendable {
        var address: SocketAddress
        /// The sequence number of the next byte to send.
        var next: UInt32
        var hasEnded = false
    }

    /// The client and the server.
    private var ends: [End]
    private var wasReset = false
    private var packetNumber: UInt16 = 0

    /// Creates a connection without packets. `seed` determines the initial sequence numbers.
    init(from client: SocketAddress, to server: SocketAddress, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        ends = [client, server].map { End(address: $0, next: UInt32(truncatingIfNeeded: random.next())) }
    }

    /// Whether no more packets follow.
    var isOver: Bool { wasReset || ends.allSatisfy(\.hasEnded) }

    /// Returns the three packets of the TCP handshake.
    mutating func open() -> [[UInt8]] {
        let syn = packet(from: 0, .syn)
        ends[0].next &+= 1
        let answer = packet(from: 1, [.syn, .ack])
        ends[1].next &+= 1
        return [syn, answer, packet(from: 0, .ack)]
    }

    /// Returns packets with bytes of the client (index 0) or the server (index 1).
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

    /// Returns the packets of an orderly end of one direction.
    mutating func end(_ index: Int) -> [[UInt8]] {
        guard !wasReset, !ends[index].hasEnded else { return [] }
        let fin = packet(from: index, [.fin, .ack])
        ends[index].next &+= 1
        ends[index].hasEnded = true
        return [fin, packet(from: 1 - index, .ack)]
    }

    /// Returns the packet of a reset; none if the connection has ended.
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
        // Both addresses must be of one family, so an IPv4 address beside an IPv6 address is written as IPv4-mapped.
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

    /// Returns the Internet checksum (RFC 1071).
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
