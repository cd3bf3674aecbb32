import Martlet
import MartletTestKit
import MartletWire
import Testing

@Suite("Clients over disconnections and restarts")
struct ClientStateTests {
    private let world = TestWorld()

    @Test("rooms() while the connection is lost, and a link that is resumed → the list")
    func listAfterResume() throws {
        let resumes = try world.run { [world] in
            try world.startRelay()
            let alice = world.device("alice")
            let client = try await alice.start()
            _ = try await client.open(room: "lobby")
            _ = try await client.rooms()
            alice.blackHole()
            alice.cut()
            try await world.sleep(for: .seconds(5))
            async let rooms = client.rooms()
            try await world.sleep(for: .seconds(1))
            alice.restore()
            _ = try await rooms
            return client.currentStatus.resumes
        }
        #expect(resumes == 1)
    }

    @Test("rooms() while the connection is lost, and a link that is not resumed → the list with a new invitation")
    func listAfterNewLink() throws {
        let (names, resumes) = try world.run { [world] in
            try world.startRelay()
            let bob = try await world.device("bob").start()
            try await bob.join(room: "x")
            let alice = world.device("alice")
            let client = try await alice.start()
            _ = try await client.open(room: "lobby")
            _ = try await client.rooms()
            alice.blackHole()
            alice.cut()
            // The relay keeps the link for 300 s.
            try await world.sleep(for: .seconds(400))
            try await bob.invite("alice", to: "x")
            async let rooms = client.rooms()
            try await world.sleep(for: .seconds(1))
            alice.restore()
            let list = try await rooms
            return (list.map(\.name.text), client.currentStatus.resumes)
        }
        #expect(names.contains("x"))
        #expect(resumes == 0)
    }

    @Test("a bot that answers requests, and a relay that was restarted → the bot answers a later request")
    func requestAfterRestart() throws {
        let texts = try world.run { [world] in
            let relay = try world.startRelay()
            let served = try await world.device("bot").start().open(room: "lobby")
            world.startTask {
                for await request in served.requests { try? request.respond(text: "echo: \(request.text ?? "")") }
            }
            let room = try await world.device("alice").start().open(room: "lobby")
            let before = try await room.request("echo", text: "before", to: "bot", timeout: .seconds(60)).text
            await relay.kill()
            try relay.restart()
            // Both clients return.
            try await world.sleep(for: .seconds(120))
            let after = try await room.request("echo", text: "after", to: "bot", timeout: .seconds(60)).text
            return [before, after]
        }
        #expect(texts == ["echo: before", "echo: after"])
    }

    // The client opens a limited number of rooms at once for messages of an earlier client.
    @Test("messages that wait in 130 rooms, and a client that may open one room → all sent, and the room opens")
    func backlog() throws {
        let count = try world.run(timeLimit: .seconds(3600)) { [world] in
            let relay = try world.startRelay()
            await relay.kill()
            let alice = world.device("alice")
            let first = try await alice.start()
            for number in 0..<130 {
                let room = try await first.open(room: "room-\(number)", options: Room.Options(waitsForRelay: false))
                try await room.send("waiting")
            }
            // The outbox in memory stores a message after `send` has returned.
            try await world.sleep(for: .seconds(1))
            await alice.kill()
            alice.configuration.maxRooms = 1
            try relay.restart()
            let later = try await alice.start()
            _ = try await later.open(room: "other")
            let bob = try await world.device("bob").start()
            var count = 0
            for number in 0..<130 {
                let room = try await bob.open(room: "room-\(number)")
                if try await room.messages.first(where: { _ in true })?.text == "waiting" { count += 1 }
            }
            return count
        }
        #expect(count == 130)
    }

    @Test("messages that wait in 250 rooms, no relay, and a client that may open one room → the room opens")
    func backlogWithoutRelay() throws {
        let name = try world.run { [world] in
            let alice = world.device("alice")
            let outbox = try #require(alice.outbox as? InMemoryOutbox)
            let device = outbox.open().device
            var transaction = OutboxTransaction()
            transaction.appended = (1...250).map { number in
                let id = MessageID(sender: AccountName("alice"), device: device, counter: UInt64(number))
                return OutboxEntry(id: id, room: RoomName("room-\(number)")!, content: MessageContent(text: "waiting"))
            }
            outbox.commit(transaction)
            alice.configuration.maxRooms = 1
            let client = try await alice.start()
            return try await client.open(room: "other", options: Room.Options(waitsForRelay: false)).name
        }
        #expect(name == "other")
    }

    // R-33
    @Test("20 messages in one batch, each handled for 5 s → the handled ones are delivered before the last is")
    func deliveredBySlowReader() throws {
        let states = try world.run { [world] in
            try world.startRelay()
            let alice = world.device("alice")
            let room = try await alice.start().open(room: "lobby")
            var handles: [MessageHandle] = []
            for number in 1...20 { handles.append(try await room.send("\(number)")) }
            for handle in handles { try await handle.accepted() }
            let bob = try await world.device("bob").start()
            var handled = 0
            for try await _ in try await bob.open(room: "lobby").messages {
                try await world.sleep(for: .seconds(5))
                handled += 1
                if handled == 4 { break }
            }
            return handles.map(\.state)
        }
        #expect(states.prefix(3).allSatisfy { $0 == .delivered(to: AccountName("bob")) })
        #expect(states[4] == .accepted(offset: 5))
    }

    // R-33
    @Test("2 messages of a batch handled within 10 ms, then none for a second → the second one is delivered")
    func deliveredByPoll() throws {
        let state = try world.run { [world] in
            try world.startRelay()
            let room = try await world.device("alice").start().open(room: "lobby")
            var handles: [MessageHandle] = []
            for number in 1...20 { handles.append(try await room.send("\(number)")) }
            for handle in handles { try await handle.accepted() }
            let bob = try await world.device("bob", conditions: PathConditions(delay: .milliseconds(1))).start()
            let quiet = try await bob.open(room: "quiet")
            var messages = try await bob.open(room: "lobby").messages.makeAsyncIterator()
            try await world.sleep(for: .seconds(1))
            for _ in 1...2 { _ = try await messages.next() }
            try await world.sleep(for: .milliseconds(10))
            // The acknowledgement of this frame also acknowledges the first receipt, before the poll of the mark. No
            // event follows the poll.
            quiet.suspend()
            _ = try await messages.next()
            try await world.sleep(for: .seconds(1))
            return handles[1].state
        }
        #expect(state == .delivered(to: AccountName("bob")))
    }
}
