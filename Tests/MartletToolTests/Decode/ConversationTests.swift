import MartletTransport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct ConversationTests {
    private func segment(_ flags: TCPSegment.Flags, _ bytes: [UInt8] = [], fromServer: Bool = false) -> TCPSegment {
        TCPSegment(
            source: fromServer ? Packets.server : Packets.client,
            destination: fromServer ? Packets.client : Packets.server, sequence: 10, flags: flags, payload: bytes)
    }

    @Test(
        "whoever is seen first, the client is told from the server",
        arguments: [
            (false, .syn, [], .client), (true, [.syn, .ack], [], .server), (true, .ack, [40_001], .server),
            (false, .ack, [40_001], .client), (false, .ack, [], nil),
        ] as [(Bool, TCPSegment.Flags, Set<UInt16>, Sender?)])
    func sides(fromServer: Bool, flags: TCPSegment.Flags, ports: Set<UInt16>, sender: Sender?) {
        let heard = Heard()
        let first = segment(flags, fromServer: fromServer)
        let conversation = Conversation(
            birth: 1, opening: first, ports: ports, LinkTable(), Exchange.Assumptions(), { _ in 1 }, heard.hear)
        conversation.receive(first, time: 0)
        #expect(conversation.number == 0)
        var next = segment(.ack, frame(.goAway(GoAway(Notice(code: .none)))), fromServer: fromServer)
        if flags.contains(.syn) { next.sequence += 1 }
        conversation.receive(next, time: 0)
        let faultless = heard.frames.map(\.place.sender)
        #expect(faultless == (heard.faults.isEmpty ? [sender] : []))
        #expect(conversation.number == 1)
        #expect(!conversation.isOver)
        conversation.receive(segment(.rst), time: 0)
        #expect(conversation.isOver)
    }

    @Test func `what waits can be given up`() {
        let heard = Heard()
        let first = segment(.syn)
        let conversation = Conversation(
            birth: 1, opening: first, ports: [], LinkTable(), Exchange.Assumptions(), { _ in 1 }, heard.hear)
        conversation.receive(first, time: 0)
        var next = segment(.ack, frame(Handshake.hello()))
        next.sequence = 11
        conversation.receive(next, time: 0)
        next.sequence += 1000
        conversation.receive(next, time: 0)
        #expect(conversation.heldByteCount == next.payload.count)
        conversation.breakOff()
        #expect(conversation.heldByteCount == 0)
        #expect(heard.notes.count == 1)
        conversation.finish()
        #expect(heard.notes.count == 1)
    }
}
