import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletWebSocket

@Suite struct CapturedConnectionTests {
    private func segment(_ flags: TCPSegment.Flags, _ bytes: [UInt8] = [], fromServer: Bool = false) -> TCPSegment {
        TCPSegment(
            source: fromServer ? Packets.server : Packets.client,
            destination: fromServer ? Packets.client : Packets.server, sequence: 10, flags: flags, payload: bytes)
    }

    @Test(
        "flags and ports of the first packet → client and server",
        arguments: [
            (false, .syn, [], .client), (true, [.syn, .ack], [], .server), (true, .ack, [40_001], .server),
            (false, .ack, [40_001], .client), (false, .ack, [], nil),
        ] as [(Bool, TCPSegment.Flags, Set<UInt16>, PeerRole?)])
    func sides(fromServer: Bool, flags: TCPSegment.Flags, ports: Set<UInt16>, sender: PeerRole?) {
        let heard = Heard()
        let first = segment(flags, fromServer: fromServer)
        let connection = CapturedConnection(
            firstPacketNumber: 1, opening: first, ports: ports, LinkHistories(), ConnectionDecoder.Assumptions(),
            { _ in 1 },
            onEvent: heard.hear)
        connection.receive(first, time: 0)
        #expect(connection.number == 0)
        var next = segment(.ack, frame(.goAway(GoAway(Notice(code: .none)))), fromServer: fromServer)
        if flags.contains(.syn) { next.sequence += 1 }
        connection.receive(next, time: 0)
        let faultless = heard.frames.map(\.position.sender)
        #expect(faultless == (heard.faults.isEmpty ? [sender] : []))
        #expect(connection.number == 1)
        #expect(!connection.isOver)
        connection.receive(segment(.rst), time: 0)
        #expect(connection.isOver)
    }

    /// The beginning of a connection whose directions have these bytes, in segments of `size` bytes.
    private func connect(_ client: [UInt8], _ server: [UInt8], size: Int, ports: Set<UInt16>) -> (Heard, Int) {
        let heard = Heard()
        var first = segment(.syn)
        let connection = CapturedConnection(
            firstPacketNumber: 1, opening: first, ports: ports, LinkHistories(), ConnectionDecoder.Assumptions(),
            { $0 == .martlet ? 1 : 0 }, onEvent: heard.hear)
        connection.receive(first, time: 0)
        connection.receive(segment([.syn, .ack], fromServer: true), time: 0)
        for (bytes, isServer) in [(client, false), (server, true)] {
            for start in stride(from: 0, to: bytes.count, by: size) {
                first = segment(.ack, Array(bytes[start..<min(start + size, bytes.count)]), fromServer: isServer)
                first.sequence = 11 + UInt32(start)
                connection.receive(first, time: 0)
            }
        }
        connection.finish()
        return (heard, connection.number)
    }

    /// Bytes as a binary message, masked if the key is not nil.
    private func message(_ bytes: [UInt8], key: UInt32?) -> [UInt8] {
        [UInt8](capacity: bytes.count + 8) { output in
            WebSocketWriter.reserve(in: &output, isMasked: key != nil)
            output.append(bytes: bytes.rawBytes)
            _ = WebSocketWriter.seal(&output, from: 0, key: key)
        }
    }

    private static let request = Array("GET /martlet HTTP/1.1\r\nUpgrade: websocket\r\n\r\n".utf8)

    @Test(arguments: [1, 5, 1000], [[], [40_001]] as [Set<UInt16>])
    func `a WebSocket → the frames in its messages, however it is cut`(size: Int, ports: Set<UInt16>) {
        let (hello, goAway) = (frame(Handshake.hello()), frame(.goAway(GoAway(Notice(code: .none)))))
        let client =
            Self.request + message(Array(hello.prefix(40)), key: 0x0102_0304)
            + message(Array(hello.dropFirst(40)), key: 0xFFFE_FDFC)
        let answer = Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".utf8)
        let server =
            answer + WebSocketWriter.pong([1], key: nil) + message(goAway, key: nil)
            + WebSocketWriter.close(.normal, key: nil)
        let (heard, number) = connect(client, server, size: size, ports: ports)
        #expect(heard.frames.map(\.header.type) == [.hello, .goaway])
        #expect(heard.frames.map(\.position.sender) == [.client, .server])
        #expect(heard.faults == [] && heard.notes == [] && number == 1)
    }

    @Test func `carriers that cannot be read on a known port → a note each, and no fault`() {
        let refused = connect(Self.request, Array("HTTP/1.1 404 Not Found\r\n\r\n".utf8), size: 7, ports: [40_001]).0
        #expect(refused.notes == ["an answer of HTTP with the status 404, and no WebSocket"])
        let secured = connect([0x16, 3, 1, 0, 200], [0x16, 3, 3, 0, 90], size: 1000, ports: [40_001]).0
        #expect(secured.notes.count == 2)
        #expect(secured.notes.first == "the connection has TLS: its bytes cannot be read")
        let invalid = connect(Self.request + message(frame(Handshake.hello()), key: nil), [], size: 9, ports: [40_001])
            .0
        #expect(invalid.notes == ["a WebSocket frame has the mask of the other side"])
        for heard in [refused, secured, invalid] { #expect(heard.frames.isEmpty && heard.faults == []) }
    }

    @Test func `a message, then an invalid frame in the same segment → the frames of the message, then a note`() {
        let hello = frame(Handshake.hello())
        let client = Self.request + message(hello, key: 0x0102_0304) + message(hello, key: nil)
        for ports in [[], [40_001]] as [Set<UInt16>] {
            let heard = connect(client, [], size: 10_000, ports: ports).0
            #expect(heard.frames.map(\.header.type) == [.hello])
            #expect(heard.notes == ["a WebSocket frame has the mask of the other side"] && heard.faults == [])
        }
    }

    @Test(arguments: [1, 1000])
    func `TLS and HTTP 1.0 in segments of any size → a note`(size: Int) {
        let secured = connect([0x16, 3, 1, 0, 200], [], size: size, ports: [40_001]).0
        #expect(secured.notes == ["the connection has TLS: its bytes cannot be read"] && secured.faults == [])
        let older = connect(Self.request, Array("HTTP/1.0 101 OK\r\n\r\n".utf8), size: size, ports: [40_001]).0
        #expect(older.notes == ["an answer of HTTP with the status 101, and no WebSocket"] && older.faults == [])
    }

    @Test func `control characters in place of the status → a fault without them`() {
        let heard = connect(Self.request, Array("HTTP/1.1 \u{1B}[2J".utf8), size: 1000, ports: [40_001]).0
        #expect(heard.notes == [] && heard.faults == ["badMagic at 0"])
    }

    @Test func `bytes that end in the head of HTTP → a note on a known port`() {
        let half = Array(Self.request.prefix(20))
        #expect(connect(half, [0x16], size: 1000, ports: [40_001]).0.notes.count == 2)
        let (heard, number) = connect(half, [0x16], size: 1000, ports: [])
        #expect(heard.notes == [] && number == 0)
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\nbytes of another protocol"])
    func `HTTP on a port that is not known → skipped`(answer: String) {
        let (heard, number) = connect(Self.request + Self.request, Array(answer.utf8), size: 3, ports: [])
        #expect(heard.frames.isEmpty && heard.faults == [] && heard.notes == [] && number == 0)
    }

    @Test func `the end at a gap → the held bytes are discarded, and one note`() {
        let heard = Heard()
        let first = segment(.syn)
        let connection = CapturedConnection(
            firstPacketNumber: 1, opening: first, ports: [], LinkHistories(), ConnectionDecoder.Assumptions(),
            { _ in 1 },
            onEvent: heard.hear)
        connection.receive(first, time: 0)
        var next = segment(.ack, frame(Handshake.hello()))
        next.sequence = 11
        connection.receive(next, time: 0)
        next.sequence += 1000
        connection.receive(next, time: 0)
        #expect(connection.heldByteCount == next.payload.count)
        connection.endAtGap()
        #expect(connection.heldByteCount == 0)
        #expect(heard.notes.count == 1)
        connection.finish()
        #expect(heard.notes.count == 1)
    }
}
