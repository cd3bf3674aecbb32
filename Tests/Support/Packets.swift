package import MartletDecode
package import MartletTransport
import MartletWire

/// Packets and capture files for tests.
package enum Packets {
    package static let client = SocketAddress(IPAddress(v4: 0x0A00_0001), port: 40_000)
    package static let server = SocketAddress(IPAddress(v4: 0x0A00_0002), port: 40_001)

    /// A TCP segment in an IPv4 packet.
    package static func ipv4(
        _ payload: [UInt8], from source: SocketAddress = client, to target: SocketAddress = server,
        sequence: UInt32 = 1, flags: TCPSegment.Flags = .ack, fragmentOffset: UInt16 = 0
    ) -> [UInt8] {
        let segment = tcp(payload, source.port, target.port, sequence, flags)
        var packet: [UInt8] = []
        packet.append(bigEndian: UInt16(0x4500))
        packet.append(bigEndian: UInt16(20 + segment.count))
        packet.append(bigEndian: UInt16(0))
        packet.append(bigEndian: fragmentOffset)
        packet += [64, 6, 0, 0] + source.ip.bytes + target.ip.bytes
        return packet + segment
    }

    /// A TCP segment in an IPv6 packet, behind these extension headers.
    package static func ipv6(_ payload: [UInt8], first: UInt8 = 6, extensions: [UInt8] = []) -> [UInt8] {
        let segment = tcp(payload, 1, 2, 1, .ack)
        var packet: [UInt8] = []
        packet.append(bigEndian: UInt32(0x6000_0000))
        packet.append(bigEndian: UInt16(extensions.count + segment.count))
        packet += [first, 64]
        for _ in 0..<2 { packet += IPAddress.loopbackV6.bytes }
        return packet + extensions + segment
    }

    private static func tcp(
        _ payload: [UInt8], _ source: UInt16, _ target: UInt16, _ sequence: UInt32, _ flags: TCPSegment.Flags
    ) -> [UInt8] {
        var segment: [UInt8] = []
        segment.append(bigEndian: source)
        segment.append(bigEndian: target)
        segment.append(bigEndian: sequence)
        segment.append(bigEndian: UInt32(0))
        // The header has 24 bytes, including options.
        segment += [0x60, flags.rawValue, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]
        return segment + payload
    }

    /// A classic capture of these packets, a microsecond apart.
    package static func pcap(_ packets: [[UInt8]], link: LinkType = .raw, magic: UInt32 = 0xA1B2_C3D4) -> [UInt8] {
        let isSwapped = magic & 0xFF != 0xD4 && magic & 0xFF != 0x4D
        func number(_ value: UInt32) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: isSwapped ? value.byteSwapped : value)
            return bytes
        }
        var file: [UInt8] = []
        file.append(bigEndian: magic)
        file +=
            (isSwapped ? [2, 0, 4, 0] : [0, 2, 0, 4]) + number(0) + number(0) + number(65_535) + number(link.rawValue)
        for (index, packet) in packets.enumerated() {
            file += number(100) + number(UInt32(index)) + number(UInt32(packet.count)) + number(UInt32(packet.count))
            file += packet
        }
        return file
    }
}
