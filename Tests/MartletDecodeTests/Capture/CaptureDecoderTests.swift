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

    @Test func `a connection from its first packet to its last`() {
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

    @Test func `a table takes its connections along when it is dropped`() {
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

    @Test func `packets out of order, repeated, and among others`() {
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

    @Test func `what is not Martlet is passed over, but not on Martlet's port`() {
        let request = Array("GET / HTTP/1.1\r\n\r\n".utf8)
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

    @Test func `the other way of a Martlet connection must be Martlet too`() {
        let table = table()
        var connection = connection()
        give(connection.open() + connection.send(hello.rawBytes, from: 0), to: table)
        let answer = Array("HTTP/1.1 400".utf8)
        give(connection.send(answer.rawBytes, from: 1), to: table)
        #expect(heard.faults == ["badMagic at 0"])
    }

    @Test func `a capture that begins in the middle`() {
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

    @Test func `bytes that were never captured end a way, with a word`() {
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

    @Test func `a cut inside a frame is nobody's mistake, an end is`() {
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

    @Test func `the same ports again are another connection`() {
        let table = table()
        for seed: UInt64 in 1...2 {
            var connection = connection(seed: seed)
            give(connection.open() + connection.send(hello.rawBytes, from: 0) + connection.reset(), to: table)
        }
        table.finish()
        #expect(heard.frames.map(\.position.connection) == [1, 2])
        #expect(heard.faults == [])
    }

    @Test func `there is a bound on connections`() {
        let table = table()
        for number in 0...CaptureDecoder.maxConnectionCount {
            var connection = SyntheticTCP(
                from: SocketAddress(IPAddress(v4: UInt32(number)), port: 1), to: Packets.server, seed: 1)
            give([connection.open()[0]], to: table)
        }
        #expect(table.count == CaptureDecoder.maxConnectionCount / 8 * 7 + 1)
    }
}
