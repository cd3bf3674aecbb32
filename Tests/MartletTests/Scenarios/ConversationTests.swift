import Martlet
import MartletRelay
import MartletWire
import Testing

@Suite("Conversation over sockets", .timeLimit(.minutes(10)))
struct ConversationTests {
    @Test func `500 messages arrive once and in order, with sender, offset, ID and text`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let hers = try await alice.open(room: "lobby")
                try await withClient("bob", at: relay) { bob in
                    let his = try await bob.open(room: "lobby")
                    var ids: [MessageID] = []
                    for number in 1...500 { ids.append(try await hers.send("message \(number)").id) }
                    let received = try await his.messages.first(500)
                    #expect(received.map(\.text) == (1...500).map { "message \($0)" })
                    #expect(received.map(\.offset) == Array(1...500))
                    #expect(received.map(\.id) == ids)
                    #expect(received.allSatisfy { $0.sender == alice.account && $0.kind == .text })
                    #expect(received.allSatisfy { $0.acceptedAt > 1_700_000_000_000 })
                }
            }
        }
    }

    @Test func `the states of a message that a member receives and reads are accepted, delivered and read`()
        async throws
    {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let hers = try await alice.open(room: "lobby")
                try await withClient("bob", at: relay) { bob in
                    let his = try await bob.open(room: "lobby")
                    let handle = try await hers.send("hello")
                    var states: [MessageHandle.State] = []
                    for await state in handle.states {
                        states.append(state)
                        if case .accepted = state {
                            let message = try #require(try await his.messages.first(1).first)
                            #expect(message.id == handle.id)
                        }
                        if case .delivered = state { his.markRead(upTo: 1) }
                        if case .read = state { break }
                    }
                    let ofRelay = states.drop { $0 == .queued || $0 == .sent }
                    #expect(ofRelay == [.accepted(offset: 1), .delivered(to: bob.account), .read(by: bob.account)])
                    #expect(handle.state == .read(by: bob.account))
                    #expect(try await handle.accepted() == 1)
                }
            }
        }
    }

    @Test func `the joining, typing, transient frame and leaving of a member produce events in that order`()
        async throws
    {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let hers = try await alice.open(room: "lobby")
                let events = hers.events.makeAsyncIterator()
                let bob = try Client(to: relay, as: .anonymous("bob"))
                try await bob.start()
                let his = try await bob.open(room: "lobby")
                let name = bob.account
                let came = await next(events) { if case .presence = $0 { true } else { false } }
                #expect(came == .presence(name, .online))
                #expect(hers.members == [alice.account, name])
                his.setTyping(true)
                let typed = await next(events) { if case .typing = $0 { true } else { false } }
                #expect(typed == .typing(name, true))
                let content = OutgoingMessage.waving.content.bytes
                try his.sendTransient(kind: OutgoingMessage.waving.content.kind, content: content)
                let waved = await next(events) { if case .transient = $0 { true } else { false } }
                #expect(waved == .transient(name, OutgoingMessage.waving.content.kind, content))
                await his.close()
                let left = await next(events) { if case .presence = $0 { true } else { false } }
                #expect(left == .presence(name, .left))
                #expect(hers.members == [alice.account])
                await bob.stop()
            }
        }
    }

    private func next(
        _ events: Room.Events.AsyncIterator, _ isMeant: (Room.Event) -> Bool
    ) async -> Room.Event? {
        var events = events
        while let event = await events.next() {
            if isMeant(event) { return event }
        }
        return nil
    }

    @Test func `a device with the option includesOwnMessages receives its own messages in order`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let lobby = try await alice.open(room: "lobby", options: Room.Options(includesOwnMessages: true))
                for number in 1...3 { try await lobby.send("\(number)") }
                let echoed = try await lobby.messages.first(3)
                #expect(echoed.map(\.text) == ["1", "2", "3"])
                #expect(echoed.map(\.offset) == [1, 2, 3])
            }
        }
    }

    @Test func `a message of many fragments arrives whole, a message beyond the limit throws messageTooLarge`()
        async throws
    {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let hers = try await alice.open(room: "lobby")
                try await withClient("bob", at: relay) { bob in
                    let his = try await bob.open(room: "lobby")
                    let text = String(repeating: "long ", count: 100_000)
                    try await hers.send(text)
                    let received = try await his.messages.first(1).first
                    #expect(received?.text == text)
                }
                let tooLong = String(repeating: "x", count: 1 << 20)
                await #expect(throws: MartletError.messageTooLarge(byteCount: (1 << 20) + 6, limit: (1 << 20) - 512)) {
                    try await hers.send(tooLong)
                }
                await #expect(throws: MartletError.invalidContent("the text of a message is empty")) {
                    try await hers.send("")
                }
            }
        }
    }
}

extension OutgoingMessage {
    /// A message of an application's own kind, with one field.
    static let waving = try! OutgoingMessage(
        kind: ContentKind(rawValue: 0xF001), content: [0x7F, 0x01, 0, 0, 0, 2, 0x77, 0x76])
}
