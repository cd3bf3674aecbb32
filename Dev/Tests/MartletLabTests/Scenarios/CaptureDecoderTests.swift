import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletLab

@Suite struct CaptureDecoderTests {
    private let heard = Heard()

    private func table(ports: Set<UInt16> = []) -> CaptureDecoder { CaptureDecoder(ports: ports, onEvent: heard.hear) }

    private func give(_ packets: [[UInt8]], to table: CaptureDecoder) {
        for packet in packets { table.receive(CapturedPacket(time: 1, link: .raw, bytes: packet)) }
    }

    private func connection(_ port: UInt16 = 40_000, seed: UInt64 = 1) -> SyntheticTCP {
        SyntheticTCP(from: SocketAddress(Packets.client.ip, port: port), to: Packets.server, seed: seed)
    }

    private let hello = frame(Handshake.hello())

    @Test func `handshake, hello, welcome and ends of a connection → two frames with their senders`() {
        let table = table()
        var connection = connection()
        give(connection.open() + connection.send(hello.rawBytes, from: 0), to: table)
        give(connection.send(frame(Handshake.welcome()).rawBytes, from: 1), to: table)
        give(connection.end(0) + connection.end(1), to: table)
        table.finish()
        #expect(heard.frames.map(\.header.type) == [.hello, .welcome])
        #expect(heard.frames.map(\.position.sender) == [.client, .server])
        #expect(heard.frames.map(\.position.connection) == [1, 1])
        #expect(heard.events.count == 2)
        #expect(table.totals == .init(packetCount: 9, skippedCount: 0, connectionCount: 1, foreignCount: 0))
    }

    @Test func `a released decoder is not retained by its connections`() {
        weak var dropped: CaptureDecoder?
        do {
            let table = table()
            var connection = connection()
            give(connection.open() + connection.send(hello.rawBytes, from: 0), to: table)
            #expect(table.count == 1)
            dropped = table
        }
        #expect(dropped == nil)
    }

    @Test func `reordered and repeated packets of two connections → one hello of each, no faults`() {
        let table = table()
        var first = connection()
        var second = connection(40_002, seed: 2)
        give(first.open() + second.open() + [[0x45, 1, 2]], to: table)
        let parts = [hello[..<50], hello[50..<90], hello[90...]].map { first.send($0.rawBytes, from: 0)[0] }
        give([parts[2], parts[0], parts[0]], to: table)
        give(second.send(hello.rawBytes, from: 0), to: table)
        #expect(heard.frames.map(\.position.connection) == [2])
        give([parts[1], parts[2]], to: table)
        #expect(heard.frames.map(\.position.connection) == [2, 1])
        table.finish()
        #expect(heard.faults == [])
        #expect(table.totals.skippedCount == 1)
    }

    @Test func `bytes of another protocol → skipped, but a fault on a given port`() {
        let request = Array("SSH-2.0-client\r\n".utf8)
        let plain = table()
        var connection = connection()
        give(connection.open() + connection.send(request.rawBytes, from: 0), to: plain)
        plain.finish()
        #expect(heard.events == [])
        #expect(plain.totals.foreignCount == 1)
        let named = table(ports: [Packets.server.port])
        var other = self.connection()
        give(other.open() + other.send(request.rawBytes, from: 0), to: named)
        #expect(heard.faults == ["badMagic at 0"])
    }

    @Test func `an answer of another protocol to a hello → badMagic`() {
        let table = table()
        var connection = connection()
        give(connection.open() + connection.send(hello.rawBytes, from: 0), to: table)
        let answer = Array("SSH-2.0-server\r\n".utf8)
        give(connection.send(answer.rawBytes, from: 1), to: table)
        #expect(heard.faults == ["badMagic at 0"])
    }

    @Test func `a capture that begins inside a frame → a note, and the frames of the other direction`() {
        let table = table(ports: [Packets.server.port])
        var connection = connection()
        _ = connection.open()
        give(connection.send([1, 2, 3].rawBytes, from: 0), to: table)
        give(connection.send(frame(.ping(Ping(nonce: 1))).rawBytes, from: 1), to: table)
        give(connection.send(frame(.ping(Ping(nonce: 1))).rawBytes, from: 0), to: table)
        table.finish()
        #expect(heard.faults == [])
        #expect(heard.notes == ["the capture begins inside this direction: its bytes cannot be read as frames"])
        #expect(heard.frames.map(\.position.sender) == [.server])
    }

    @Test func `bytes missing in the capture → a note, and the end of that direction`() {
        let table = table()
        var connection = connection()
        give(connection.open() + connection.send(hello.rawBytes, from: 0), to: table)
        _ = connection.send([1].rawBytes, from: 0)
        give(connection.send(hello.rawBytes, from: 0), to: table)
        table.finish()
        #expect(heard.faults == [])
        #expect(heard.notes == ["bytes are not in the capture: the rest of this direction is not read"])
        #expect(heard.frames.count == 1)
    }

    @Test func `a reset inside a frame → a note, the end of the stream → unexpectedEOF`() {
        let start = Array(hello.prefix(40))
        let table = table()
        var connection = connection()
        give(connection.open() + connection.send(start.rawBytes, from: 0) + connection.reset(), to: table)
        table.finish()
        #expect(heard.notes == ["the connection was cut inside a frame, of which 40 bytes are present"])
        let again = self.table()
        var other = self.connection()
        give(other.open() + other.send(start.rawBytes, from: 0) + other.end(0), to: again)
        again.finish()
        #expect(heard.faults == ["unexpectedEOF at 0"])
        #expect(heard.notes.count == 1)
    }

    @Test func `a second handshake on the same ports → a second connection`() {
        let table = table()
        for seed: UInt64 in 1...2 {
            var connection = connection(seed: seed)
            give(connection.open() + connection.send(hello.rawBytes, from: 0) + connection.reset(), to: table)
        }
        table.finish()
        #expect(heard.frames.map(\.position.connection) == [1, 2])
        #expect(heard.faults == [])
    }

    @Test func `a connection beyond the bound → an eighth of the connections is removed`() {
        let table = table()
        for number in 0...CaptureDecoder.maxConnectionCount {
            var connection = SyntheticTCP(
                from: SocketAddress(IPAddress(v4: UInt32(number)), port: 1), to: Packets.server, seed: 1)
            give([connection.open()[0]], to: table)
        }
        #expect(table.count == CaptureDecoder.maxConnectionCount / 8 * 7 + 1)
    }
}
