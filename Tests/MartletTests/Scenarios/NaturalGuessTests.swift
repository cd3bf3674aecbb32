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
}
