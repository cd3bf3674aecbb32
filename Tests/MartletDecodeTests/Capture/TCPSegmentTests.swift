import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletDecode

@Suite struct TCPSegmentTests {
    private func segment(_ bytes: [UInt8], _ link: LinkType = .raw) -> TCPSegment? {
        guard case .segment(let segment) = TCPSegment.parse(CapturedPacket(time: 0, link: link, bytes: bytes)) else {
            return nil
        }
        return segment
    }

    @Test func `an IPv4 packet → addresses, sequence, flags and payload`() {
        let packet = Packets.ipv4([1, 2, 3], sequence: 77, flags: [.psh, .ack])
        #expect(
            segment(packet)
                == TCPSegment(
                    source: Packets.client, destination: Packets.server, sequence: 77, flags: [.psh, .ack],
                    payload: [1, 2, 3]))
    }

    @Test func `the header of each link type is skipped, and other packets give no segment`() {
        let packet = Packets.ipv4([9])
        let addresses = [UInt8](repeating: 2, count: 12)
        let rows: [(LinkType, [UInt8])] = [
            (.raw, []), (.rawOnBSD, []), (.rawOnOpenBSD, []), (.ipv4, []), (.null, [2, 0, 0, 0]),
            (.loop, [0, 0, 0, 2]),
            (.ethernet, addresses + [0x08, 0x00]), (.ethernet, addresses + [0x81, 0x00, 0, 5, 0x08, 0x00]),
            (.ethernet, addresses + [0x88, 0xA8, 0, 5, 0x81, 0x00, 0, 6, 0x08, 0x00]),
            (.linuxCooked, [UInt8](repeating: 0, count: 14) + [0x08, 0x00]),
            (.linuxCooked2, [0x08, 0x00] + [UInt8](repeating: 0, count: 18)),
        ]
        for (link, head) in rows { #expect(segment(head + packet, link)?.payload == [9]) }
        #expect(segment(addresses + [0x08, 0x06] + packet, .ethernet) == nil)
        #expect(segment(packet, LinkType(rawValue: 9999)) == nil)
    }

    @Test func `IPv6 extension headers are skipped, and too many of them give no segment`() {
        #expect(segment(Packets.ipv6([4]))?.payload == [4])
        #expect(segment(Packets.ipv6([4]))?.source == SocketAddress(.loopbackV6, port: 1))
        let hops: [UInt8] = [60, 0, 0, 0, 0, 0, 0, 0]
        let options: [UInt8] = [6, 1] + [UInt8](repeating: 0, count: 14)
        #expect(segment(Packets.ipv6([4], first: 0, extensions: hops + options))?.payload == [4])
        #expect(segment(Packets.ipv6([4], first: 17)) == nil)
        let endless = Packets.ipv6([], first: 0, extensions: [UInt8](repeating: 0, count: 8 * 12))
        #expect(segment(endless) == nil)
    }

    @Test func `padding is not part of the payload, and missing bytes are counted`() {
        let packet = Packets.ipv4([1, 2, 3])
        #expect(segment(packet + [0, 0])?.payload == [1, 2, 3])
        #expect(segment(packet.dropLast(2))?.payload == [1])
        #expect(segment(packet.dropLast(2))?.missingByteCount == 2)
    }

    @Test func `a fragment of an IPv4 or IPv6 packet → fragment`() {
        for offset: UInt16 in [0x2000, 0x0001, 0x2010] {
            let packet = CapturedPacket(time: 0, link: .raw, bytes: Packets.ipv4([1], fragmentOffset: offset))
            #expect(TCPSegment.parse(packet) == .fragment)
        }
        #expect(segment(Packets.ipv4([1], fragmentOffset: 0x4000)) != nil)
        let bytes = Packets.ipv6([], first: 44)
        #expect(TCPSegment.parse(CapturedPacket(time: 0, link: .raw, bytes: bytes)) == .fragment)
    }

    @Test func `a truncated packet → no segment, a damaged one → no trap`() {
        for packet in [Packets.ipv4([]), Packets.ipv6([])] {
            for count in 0..<packet.count { #expect(segment(Array(packet.prefix(count))) == nil) }
            for index in packet.indices {
                var damaged = packet
                damaged[index] ^= 0xFF
                _ = segment(damaged)
            }
        }
    }
}
