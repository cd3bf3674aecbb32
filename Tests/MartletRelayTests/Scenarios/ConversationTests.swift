import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite("Conversation of two devices on sockets")
struct ConversationTests {
    @Test("data frame is accepted and delivered to the other member")
    func aMessageGoesThrough() async throws {
        try await withRelay { relay, port in
            let alice = try await WirePeer.connect(to: port)
            let welcome = try await alice.hello(FrameWriter.hello("alice", device: 1))
            #expect(welcome.account == AccountName("alice"))
            #expect(welcome.epoch == Epoch(rawValue: 1))
            #expect(welcome.resumed == nil)
            let opened = try await alice.open("lobby")
            #expect(opened.log != nil)
            #expect(opened == Opened(head: 0, first: 1, log: opened.log, members: [AccountName("alice")]))

            let bob = try await WirePeer.connect(to: port)
            _ = try await bob.hello(FrameWriter.hello("bob", device: 2))
            let members = try await bob.open("lobby").members
            #expect(members.map(\.text) == ["alice", "bob"])

            await alice.write { $0.text("hi", counter: 1, on: .first) }
            let accepted: Accepted = try await alice.next()
            #expect(accepted.runs == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)])
            let message: Message = try await bob.expect()
            #expect(message.text == "hi")
            #expect(message.relay?.sender == AccountName("alice"))
            #expect(message.relay?.device == DeviceID(rawValue: 1))
            #expect(message.relay?.offset == 1)
            let statistics = await relay.statistics
            #expect(statistics.messagesStored == 1)
            #expect(statistics.links == 2)
        }
    }
}
