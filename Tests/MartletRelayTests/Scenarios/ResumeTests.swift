import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite("Link resumption on sockets")
struct ResumeTests {
    // W-11, W-45, S-16
    @Test("resumed link retransmits missing frames of both sides once, under their sequences")
    func bothDirections() async throws {
        try await withRelay { relay, port in
            let bob = try await WirePeer.connect(to: port)
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            try await bob.open(noLocal: true)

            let alice = try await WirePeer.connect(to: port)
            let welcome = try await alice.hello()
            try await alice.open(noLocal: true)
            #expect(try await alice.publish("first", counter: 1) == 1)
            let _: Message = try await bob.expect()
            await alice.cut()

            // Published while alice is disconnected.
            #expect(try await bob.publish("second", counter: 1) == 2)
            #expect(try await bob.publish("third", counter: 2) == 3)

            // Alice received opened and accepted. Its next message follows the hello.
            let again = try await WirePeer.connect(to: port)
            let writer = await alice.writer
            await again.setWriter(writer)
            let point = welcome.resumePoint([.first: 2])
            await again.write { $0.frame(FrameWriter.hello(resume: point)) + $0.text("fourth", counter: 2, on: .first) }
            let resumed: Welcome = try await again.expect()
            #expect(resumed.epoch == Epoch(rawValue: 2))
            #expect(resumed.link == welcome.link)
            #expect(resumed.resumeToken != welcome.resumeToken)
            #expect(resumed.resumed?.contains(SessionPosition(session: .first, received: 2)) == true)

            var texts: [String] = []
            var offset: UInt64?
            while texts.count < 2 || offset == nil {
                let frame = try await again.frame(skipping: [.ack, .ping, .transient])
                if let message: Message = try? frame.parsed() { texts.append(message.text ?? "") }
                if let accepted: Accepted = try? frame.parsed() { offset = accepted.runs.first?.firstOffset }
            }
            #expect(texts == ["second", "third"])
            #expect(offset == 4)
            #expect(try await bob.next(Message.self).relay?.offset == 4)
            #expect(await relay.statistics.resumes == 1)
            #expect(await relay.statistics.messagesStored == 4)
        }
    }

    @Test("message sent again on a new link keeps its offset and is delivered once")
    func newLink() async throws {
        try await withRelay { relay, port in
            let bob = try await WirePeer.connect(to: port)
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            try await bob.open()
            for _ in 0..<3 {
                let alice = try await WirePeer.connect(to: port)
                try await alice.hello()
                try await alice.open(cursor: 1)
                #expect(try await alice.publish("once", counter: 1) == 1)
                await alice.cut()
            }
            await bob.write { $0.text("done", counter: 1, on: .first) }
            #expect(try await bob.next(Message.self).text == "once")
            #expect(try await bob.next(Message.self).text == "done")
            #expect(await relay.statistics.messagesStored == 2)
        }
    }

    @Test("history by cursor or tail returns kept messages after a gap")
    func history() async throws {
        try await withRelay(store: InMemoryStore(maxMessagesPerRoom: 100)) { _, port in
            let publisher = try await WirePeer.connect(to: port)
            try await publisher.hello()
            try await publisher.open(noLocal: true)
            // More than the room keeps in memory, so the store provides the older messages.
            await publisher.write { writer in
                (1...1500).flatMap { writer.text("\($0)", counter: $0, on: .first) }
            }
            var accepted = 0
            while accepted < 1500 {
                accepted += try await publisher.next(Accepted.self).runs.reduce(0) { $0 + Int($1.count) }
            }
            await publisher.cut()

            func offsets(_ device: UInt64, cursor: UInt64, tail: UInt32? = nil) async throws -> [UInt64] {
                let reader = try await WirePeer.connect(to: port)
                try await reader.hello(FrameWriter.hello("reader", device: device))
                let opened = try await reader.open(cursor: cursor, tail: tail)
                #expect(opened.head == 1500)
                var offsets: [UInt64] = []
                while offsets.last != 1500 {
                    let frame = try await reader.frame(skipping: [.ack, .ping, .transient, .receipt])
                    if let gap: Gap = try? frame.parsed() {
                        offsets += [gap.offsets.upperBound]
                    } else {
                        offsets.append(try frame.parsed(as: Message.self).relay!.offset)
                    }
                }
                await reader.cut()
                return offsets
            }
            #expect(try await offsets(10, cursor: 1490) == Array(1491...1500))
            #expect(try await offsets(11, cursor: 0, tail: 3) == [1498, 1499, 1500])
            // A gap up to 1,400, then the kept messages.
            #expect(try await offsets(12, cursor: 5) == Array(1400...1500))
        }
    }
}
