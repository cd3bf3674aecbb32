import Martlet
import MartletRelay
import MartletWire
import Testing

@Suite("Requests and bots", .timeLimit(.minutes(10)))
struct RequestTests {
    /// A bot that rolls dice, refuses `crash`, forgets `forget` and never answers `wait`.
    private func serve(_ room: Room) async throws {
        var kept: [RoomRequest] = []
        for await request in room.requests {
            switch request.method {
            case "roll": try request.respond(text: "\(request.sender) rolled \(request.text ?? "")")
            case "crash": request.fail(ErrorCode(rawValue: 0xF001), reason: "as asked")
            case "wait": kept.append(request)
            default: break
            }
        }
    }

    private func withBot(_ body: (Room) async throws -> Void) async throws {
        try await withRelay { relay in
            try await withClient("dicebot", at: relay) { bot in
                let its = try await bot.open(room: "lobby")
                async let serving: Void = serve(its)
                try await withClient("alice", at: relay) { alice in
                    try await body(try await alice.open(room: "lobby"))
                }
                await its.close()
                try await serving
            }
        }
    }

    @Test func `a bot answers with a text`() async throws {
        try await withBot { lobby in
            let answer = try await lobby.request("roll", text: "2d6", to: "dicebot")
            #expect(answer.text == "alice rolled 2d6")
        }
    }

    @Test func `a bot's failure comes with its code and reason`() async throws {
        try await withBot { lobby in
            await #expect(
                throws: MartletError.answeredWithFailure(ErrorCode(rawValue: 0xF001), reason: "as asked")
            ) {
                try await lobby.request("crash", to: "dicebot")
            }
        }
    }

    @Test func `a request that is dropped without an answer is refused`() async throws {
        try await withBot { lobby in
            await #expect(throws: MartletError.answeredWithFailure(.refused, reason: nil)) {
                try await lobby.request("forget", to: "dicebot")
            }
        }
    }

    @Test func `a request that nobody answers ends at its deadline`() async throws {
        try await withBot { lobby in
            await #expect(throws: MartletError.deadlineExceeded) {
                try await lobby.request("wait", to: "dicebot", deadline: .milliseconds(20))
            }
        }
    }

    @Test func `a request to nobody fails at once`() async throws {
        try await withBot { lobby in
            await #expect(throws: MartletError.answeredWithFailure(.noRecipient, reason: nil)) {
                try await lobby.request("roll", to: "nobody")
            }
        }
    }

    @Test func `a cancelled request is over at once, and the next one works`() async throws {
        try await withBot { lobby in
            let request = Task { try await lobby.request("wait", to: "dicebot", deadline: .seconds(3600)) }
            request.cancel()
            await #expect(throws: CancellationError.self) { try await request.value }
            let answer = try await lobby.request("roll", text: "1", to: "dicebot")
            #expect(answer.text == "alice rolled 1")
        }
    }

    @Test func `closing the room ends a request with the room's error`() async throws {
        try await withBot { lobby in
            let answer = Task { try await lobby.request("wait", to: "dicebot", deadline: .seconds(3600)) }
            // The answer to a later request shows that the earlier one was made.
            _ = try await lobby.request("roll", text: "1", to: "dicebot")
            await lobby.close()
            await #expect(throws: MartletError.roomClosed(nil)) { try await answer.value }
        }
    }
}
