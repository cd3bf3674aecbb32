package import MartletTransport
internal import MartletWire

/// A TCP segment of a captured packet.
package struct TCPSegment: Equatable, Sendable {
    /// The control bits that are needed for reassembly.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let fin = Flags(rawValue: 0x01)
        package static let syn = Flags(rawValue: 0x02)
        package static let rst = Flags(rawValue: 0x04)
        package static let psh = Flags(rawValue: 0x08)
        package static let ack = Flags(rawValue: 0x10)
    }

    package var source: SocketAddress
    package var destination: SocketAddress
    /// The sequence number of the first byte, or of the SYN before it.
    package var sequence: UInt32
    package var flags: Flags
    package var payload: [UInt8]
    /// The number of bytes at the end of the payload that are not in the capture.
    package var missingByteCount = 0
}

extension TCPSegment {
    /// The content of a packet.
    package enum Content: Equatable, Sendable {
        case segment(TCPSegment)
        /// A fragment of an IP packet. IP fragments are not reassembled.
        case fragment
        /// Another protocol than TCP over IP.
        case other
    }

    /// Parses a packet. A packet with an invalid length is `other`.
    package static func parse(_ packet: CapturedPacket) -> Content {
        guard let start = startOfIP(packet.link, packet.bytes.rawBytes) else { return .other }
        return parseIP(packet.bytes[start...])
    }

    /// The offset of the IP header; nil if the packet has none.
    private static func startOfIP(_ link: LinkType, _ bytes: RawSpan) -> Int? {
        switch link {
        case .raw, .rawOnBSD, .rawOnOpenBSD, .ipv4, .ipv6: return 0
        case .null, .loop: return bytes.byteCount >= 4 ? 4 : nil
        case .linuxCooked: return isIP(bytes, typeAt: 14) ? 16 : nil
        case .linuxCooked2: return isIP(bytes, typeAt: 0) ? min(20, bytes.byteCount) : nil
        case .ethernet:
            var offset = 12
            // A packet has at most two VLAN tags.
            for _ in 0..<2 where bytes.byteCount >= offset + 2 {
                guard [0x8100, 0x88A8, 0x9100].contains(bytes.loadUInt16(at: offset)) else { break }
                offset += 4
            }
            return isIP(bytes, typeAt: offset) ? offset + 2 : nil
        default: return nil
        }
    }

    private static func isIP(_ bytes: RawSpan, typeAt offset: Int) -> Bool {
        bytes.byteCount >= offset + 2 && [0x0800, 0x86DD].contains(bytes.loadUInt16(at: offset))
    }

    private static func parseIP(_ packet: ArraySlice<UInt8>) -> Content {
        let bytes = packet.rawBytes
        guard let first = packet.first else { return .other }
        switch first >> 4 {
        case 4:
            let headerByteCount = Int(first & 0x0F) * 4
            guard headerByteCount >= 20, bytes.byteCount >= headerByteCount else { return .other }
            guard bytes.loadUInt8(at: 9) == 6 else { return .other }
            guard bytes.loadUInt16(at: 6) & 0x3FFF == 0 else { return .fragment }
            return parseTCP(
                packet.dropFirst(headerByteCount), total(bytes.loadUInt16(at: 2), bytes) - headerByteCount,
                IPAddress(v4: bytes.loadUInt32(at: 12)), IPAddress(v4: bytes.loadUInt32(at: 16)))
        case 6:
            guard bytes.byteCount >= 40 else { return .other }
            return parseIPv6(packet)
        default: return .other
        }
    }

    /// The length of the packet according to its header. Segmentation offload leaves the field zero.
    private static func total(_ length: UInt16, _ bytes: RawSpan) -> Int {
        length == 0 ? bytes.byteCount : Int(length)
    }

    private static func parseIPv6(_ packet: ArraySlice<UInt8>) -> Content {
        let bytes = packet.rawBytes
        let length = bytes.loadUInt16(at: 4)
        let total = length == 0 ? bytes.byteCount : 40 + Int(length)
        var next = bytes.loadUInt8(at: 6)
        var offset = 40
        // At most 8 headers of hop-by-hop options, routing and destination options are read.
        for _ in 0..<8 {
            switch next {
            case 6:
                return parseTCP(
                    packet.dropFirst(offset), total - offset,
                    IPAddress(v6High: bytes.loadUInt64(at: 8), low: bytes.loadUInt64(at: 16)),
                    IPAddress(v6High: bytes.loadUInt64(at: 24), low: bytes.loadUInt64(at: 32)))
            case 0, 43, 60:
                guard bytes.byteCount >= offset + 8 else { return .other }
                next = bytes.loadUInt8(at: offset)
                offset += 8 + 8 * Int(bytes.loadUInt8(at: offset + 1))
            case 44: return .fragment
            default: return .other
            }
        }
        return .other
    }

    /// Parses a segment. `byteCount` is its length according to the IP header; padding can follow.
    private static func parseTCP(
        _ segment: ArraySlice<UInt8>, _ byteCount: Int, _ source: IPAddress, _ destination: IPAddress
    ) -> Content {
        let bytes = segment.rawBytes.extracting(first: max(byteCount, 0))
        guard bytes.byteCount >= 20 else { return .other }
        let headerByteCount = Int(bytes.loadUInt8(at: 12) >> 4) * 4
        guard headerByteCount >= 20, headerByteCount <= bytes.byteCount else { return .other }
        return .segment(
            TCPSegment(
                source: SocketAddress(source, port: bytes.loadUInt16(at: 0)),
                destination: SocketAddress(destination, port: bytes.loadUInt16(at: 2)),
                sequence: bytes.loadUInt32(at: 4), flags: Flags(rawValue: bytes.loadUInt8(at: 13)),
                payload: [UInt8](copying: bytes.extracting(droppingFirst: headerByteCount)),
                missingByteCount: byteCount - bytes.byteCount))
    }
}
