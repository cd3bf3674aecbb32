import Foundation
import Martlet
import MartletRelay
import Testing

/// The lines that a newcomer would type without the documentation. Each of them compiles.
@Suite("Natural guesses", .timeLimit(.minutes(10)))
struct NaturalGuessTests {
    private struct Move: Codable, Equatable {
        var from: String
        var to: String
    }

    private struct Ping: Codable, Equatable {
        var id: Int
    }

    private struct Pinger: RequestHandler {
        func respond(to request: RelayRequest) async -> RequestAnswer {
            let answer = try? RequestAnswer(Ping(id: request.decode(Ping.self).id + 1))
            return answer ?? RequestAnswer(status: .refused)
        }
    }

    private func client(_ name: String, at relay: String) async throws -> Client {
        let client = try Client(to: relay, as: .anonymous(name))
        try await client.start()
        return client
    }

    private func wait(for error: any Error) -> String {
        guard let error = error as? MartletError else { return error.localizedDescription }
        switch error.code {
        case .roomClosed: return "closed: \(error.room ?? "")"
        case .messageTooLarge: return "at most \(error.limit ?? 0) bytes"
        case .gaveUp, .stopped: return "offline"
        default: return error.localizedDescription
        }
    }

    @Test func `a bot and a chat, as a newcomer would write them`() async throws {
        try await withRelay { relay in
            var configuration = Client.Configuration(.server)
            configuration.logger = { event in if event.level == .error { print(event) } }
            configuration.reconnect = .calm
            let bot = try Client(to: relay, as: .anonymous("bot"), configuration: configuration)
            try await bot.start()
            let running = Task { try await bot.run() }
            let room = try await bot.open(room: "lobby")
            let answering = Task {
                for try await delivery in room.deliveries where delivery.message.sender != bot.account {
                    try await delivery.done(sending: "you said \(delivery.message.text ?? "nothing")")
                }
            }
            let ada = try Client(to: relay, as: .anonymous("ada"))
            try await ada.start()
            let lobby = try await ada.open(room: "lobby")
            let handle = try await lobby.send("hello")
            _ = try await handle.accepted()
            let answer = try #require(try await lobby.messages.first(1).first)
            #expect(answer.text == "you said hello")
            #expect(answer.sender.description == "bot" && "\(answer.sender)" == "bot")
            #expect(abs(answer.date.timeIntervalSinceNow) < 86_400)
            try await lobby.send(OutgoingMessage("plain"))
            try await lobby.send(.text("text"))
            try await lobby.send(.reply(to: answer.reference, text: "thanks"))
            try await lobby.send(.reaction("👍", to: answer.reference))
            try await lobby.send(OutgoingMessage(Move(from: "e2", to: "e4")))
            var writer = TLVWriter()
            writer.append(.text, string: "by hand")
            _ = try await lobby.send(OutgoingMessage(kind: .text, content: writer.bytes)).accepted()

            let page = try await lobby.messages(acceptedFrom: Date(timeIntervalSinceNow: -86_400), limit: 50)
            let seen: Set<RoomMessage> = Set(page.messages)
            #expect(seen.contains(answer))
            #expect(page.messages.compactMap { try? $0.decode(Move.self) } == [Move(from: "e2", to: "e4")])
            let byID = Dictionary(uniqueKeysWithValues: page.messages.map { ($0.id, $0) })
            #expect(byID[answer.id] == answer)
            let json = try JSONEncoder().encode(page.messages)
            #expect(try JSONDecoder().decode([RoomMessage].self, from: json) == page.messages)
            let saved = try JSONEncoder().encode(answer.cursor)
            #expect(try JSONDecoder().decode(RoomCursor.self, from: saved) == answer.cursor)
            #expect(lobby.snapshot.members.map(\.account.text).contains("bot"))
            #expect(ada.currentStatus.isOnline)

            await lobby.close()
            do { try await lobby.send("too late") } catch { #expect(wait(for: error) == "closed: lobby") }
            await ada.stop()
            await #expect(throws: MartletError.self) { try await ada.open(room: "lobby") }
            answering.cancel()
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
            #expect(bot.currentStatus.phase == .stopped(nil))
        }
    }

    @Test func `replies, reactions, edits and deletions, by a message, a handle and an ID`() async throws {
        try await withRelay { relay in
            let (ada, bob) = (try await client("ada", at: relay), try await client("bob", at: relay))
            let lobby: RoomName = "lobby"
            let (room, his) = (try await ada.open(room: lobby), try await bob.open(room: lobby))
            #expect(room.name == "lobby" && "\(room.name)" == "lobby")
            try await his.send("hello")
            let message = try #require(try await room.messages.first(1).first)
            room.setTyping(true)
            try await room.reply(to: message, text: "a")
            try await room.reply("b", to: message.id)
            try await room.react("👍", to: message.id)
            try await room.react("👍", to: message, isRemoved: true)
            let own = try await room.send("typo")
            _ = try await own.accepted()
            try await room.edit(own, text: "better")
            try await room.edit(own.id, text: "fixed")
            let other = try await room.send("mistake")
            _ = try await room.delete(other).accepted()
            room.markRead(upTo: message)
            room.markRead(upTo: message.cursor)
            room.markRead(upTo: message.offset)
            let page = try await room.messages(after: message.cursor)
            #expect(page.messages.prefix(7).map(\.text) == ["a", "b", nil, nil, "typo", nil, nil])
            #expect(try page.messages[6].body == .edit(of: MessageReference(own.id), text: "fixed"))
            #expect(try page.messages.last?.body == .delete(MessageReference(other.id)))
            ada.enterForeground()
            await ada.stop()
            await bob.stop()
        }
    }

    @Test func `requests and answers with values`() async throws {
        try await withRelay(requestHandler: Pinger()) { relay in
            let (ada, bob) = (try await client("ada", at: relay), try await client("bob", at: relay))
            let (room, his) = (try await ada.open(room: "lobby"), try await bob.open(room: "lobby"))
            let answering = Task {
                for await request in his.requests {
                    let ping: Ping = try request.decode()
                    try request.respond(Ping(id: -ping.id))
                }
            }
            let fromRelay: Ping = try await ada.request("ping", Ping(id: 1))
            let inRoom: Ping = try await room.request("ping", Ping(id: 2))
            let fromBob: Ping = try await room.request("ping", Ping(id: 3), to: bob.account)
            let answer = try await room.request("ping", Ping(id: 4), to: "bob").decode(Ping.self)
            #expect([fromRelay, inRoom, fromBob, answer].map(\.id) == [2, 3, -3, -4])
            await #expect(throws: MartletError.self) { let _: String = try await room.request("ping", Ping(id: 5)) }
            await his.close()
            try await answering.value
            await ada.stop()
            await bob.stop()
        }
    }
}
