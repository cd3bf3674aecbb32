import Martlet
import MartletRelay
import MartletWire
import Testing

@Suite("Requests", .timeLimit(.minutes(10)))
struct RequestTests {
    /// A bot that answers `roll`, fails `crash`, never answers `wait`, and releases other requests without a response.
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

    @Test func `a request returns the response of the bot`() async throws {
        try await withBot { lobby in
            let answer = try await lobby.request("roll", text: "2d6", to: "dicebot")
            #expect(answer.text == "alice rolled 2d6")
        }
    }

    @Test func `a failed request throws the code and the reason of the bot`() async throws {
        try await withBot { lobby in
            await #expect(
                throws: MartletError.answeredWithFailure(ErrorCode(rawValue: 0xF001), reason: "as asked")
            ) {
                try await lobby.request("crash", to: "dicebot")
            }
        }
    }

    @Test func `a request that is released without a response is refused`() async throws {
        try await withBot { lobby in
            await #expect(throws: MartletError.answeredWithFailure(.refused, reason: nil)) {
                try await lobby.request("forget", to: "dicebot")
            }
        }
    }

    @Test func `a request without a response throws deadlineExceeded after its timeout`() async throws {
        try await withBot { lobby in
            await #expect(throws: MartletError.deadlineExceeded) {
                try await lobby.request("wait", to: "dicebot", timeout: .milliseconds(20))
            }
        }
    }

    @Test func `a request to an absent member fails at once`() async throws {
        try await withBot { lobby in
            await #expect(throws: MartletError.answeredWithFailure(.noRecipient, reason: nil)) {
                try await lobby.request("roll", to: "nobody")
            }
        }
    }

    @Test func `a cancelled request ends at once, and the next request succeeds`() async throws {
        try await withBot { lobby in
            let request = Task { try await lobby.request("wait", to: "dicebot", timeout: .seconds(3600)) }
            request.cancel()
            await #expect(throws: CancellationError.self) { try await request.value }
            let answer = try await lobby.request("roll", text: "1", to: "dicebot")
            #expect(answer.text == "alice rolled 1")
        }
    }

    @Test func `close fails a pending request with roomClosed`() async throws {
        try await withBot { lobby in
            let answer = Task { try await lobby.request("wait", to: "dicebot", timeout: .seconds(3600)) }
            // The response to a later request proves that the earlier one was sent.
            _ = try await lobby.request("roll", text: "1", to: "dicebot")
            await lobby.close()
            await #expect(throws: MartletError.roomClosed(nil, room: "lobby")) { try await answer.value }
        }
    }
}
