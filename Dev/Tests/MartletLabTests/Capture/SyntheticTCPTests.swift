import MartletToolSupport
import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletLab

@Suite struct SyntheticTCPTests {
    private func segments(_ packets: [[UInt8]]) -> [TCPSegment] {
        packets.compactMap { packet in
            let content = TCPSegment.parse(CapturedPacket(time: 0, link: .raw, bytes: packet))
            return if case .segment(let segment) = content { segment } else { nil }
        }
    }

    /// Returns the acknowledgement number of a packet.
    private func acknowledgement(_ packet: [UInt8]) -> UInt32 { packet.rawBytes.loadUInt32(at: 28) }

    @Test func `a connection consists of handshake, data and end`() {
        var connection = SyntheticTCP(from: Packets.client, to: Packets.server, seed: 1)
        let opening = connection.open()
        let opened = segments(opening)
        #expect(opened.map(\.flags) == [.syn, [.syn, .ack], .ack])
        #expect(opened.map(\.source) == [Packets.client, Packets.server, Packets.client])
        #expect(acknowledgement(opening[1]) == opened[0].sequence &+ 1)
        #expect(acknowledgement(opening[2]) == opened[1].sequence &+ 1)
        let up = connection.send([1, 2, 3].rawBytes, from: 0)
        #expect(segments(up).map(\.payload) == [[1, 2, 3]])
        #expect(segments(up)[0].sequence == opened[0].sequence &+ 1)
        let down = connection.send([4].rawBytes, from: 1)
        #expect(acknowledgement(down[0]) == opened[0].sequence &+ 4)
        let ends = connection.end(0) + connection.end(1)
        #expect(segments(ends).map(\.flags) == [[.fin, .ack], .ack, [.fin, .ack], .ack])
        #expect(acknowledgement(ends[1]) == opened[0].sequence &+ 5)
        #expect(connection.isOver)
        #expect(connection.reset() == [])
    }

    @Test func `long data is divided into packets, and no packet follows the end`() {
        var connection = SyntheticTCP(from: Packets.client, to: Packets.server, seed: 1)
        _ = connection.open()
        let bytes = (0..<3000).map { UInt8(truncatingIfNeeded: $0) }
        let packets = segments(connection.send(bytes.rawBytes, from: 1))
        #expect(packets.map(\.payload.count) == [1448, 1448, 104])
        #expect(packets.flatMap(\.payload) == bytes)
        _ = connection.end(1)
        #expect(connection.send([1].rawBytes, from: 1) == [])
        #expect(segments(connection.reset()).map(\.flags) == [[.rst, .ack]])
        #expect(connection.send([1].rawBytes, from: 0) == [])
        #expect(connection.end(0) == [])
    }

    @Test func `the checksums of the headers are valid`() {
        var connection = SyntheticTCP(from: Packets.client, to: Packets.server, seed: 1)
        for packet in connection.open() + connection.send([1, 2, 3].rawBytes, from: 0) {
            #expect(SyntheticTCP.checksum(Array(packet.prefix(20))) == 0)
            var pseudo = Array(packet[12..<20]) + [0, 6]
            pseudo.append(bigEndian: UInt16(packet.count - 20))
            #expect(SyntheticTCP.checksum(pseudo + packet.dropFirst(20)) == 0)
        }
    }

    @Test func `addresses of two families are written as IPv6`() {
        let server = SocketAddress(.loopbackV6, port: 80)
        var connection = SyntheticTCP(from: Packets.client, to: server, seed: 1)
        let segment = segments(connection.open())[0]
        #expect(segment.source == SocketAddress(IPAddress("::ffff:10.0.0.1")!, port: 40_000))
        #expect(segment.destination == server)
    }
}
