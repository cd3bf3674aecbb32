import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletDecode

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
