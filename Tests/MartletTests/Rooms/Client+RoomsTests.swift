import Martlet
import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

/// Answers `balance` with the account.
private struct Bank: RequestHandler {
    func respond(to request: RelayRequest) async -> RequestAnswer {
        guard request.room == nil, request.method.text == "balance" else {
            return RequestAnswer(status: .unknownMethod)
        }
        let content = MessageContent(text: "\(request.sender): 5").bytes
        return (try? RequestAnswer(content: content)) ?? RequestAnswer(status: .refused)
    }
}

/// A timeout that does not pass on a busy machine.
private let patience = Duration.seconds(3600)

@Suite("The rooms of an account", .timeLimit(.minutes(10)))
struct ClientRoomsTests {
    //
    @Test("a room that an account joins is in its list; one that it leaves is not")
    func joinAndLeave() async throws {
        try await withRelay { address in
            try await withClient("alice", at: address) { alice in
                #expect(try await alice.rooms().isEmpty)
                try await alice.join(room: "lobby", timeout: patience)
                let rooms = alice.roomUpdates
                var iterator = rooms.makeAsyncIterator()
                var list: [String] = []
                while list != ["lobby"], let update = await iterator.next() {
                    switch update {
                    case .list(let all): list = all.map(\.name.text)
                    case .changed(let room): list.append(room.name.text)
                    case .removed: list = []
                    }
                }
                #expect(list == ["lobby"])
                try await alice.leave(room: "lobby", timeout: patience)
                guard case .removed(let name)? = await iterator.next() else {
                    Issue.record("the room was not removed")
                    return
                }
                #expect(name.text == "lobby")
            }
        }
    }

    // C-110
    @Test("after each own join the list has the room, and after each own leave it has not")
    func ownChanges() async throws {
        try await withRelay { address in
            try await withClient("alice", at: address) { alice in
                #expect(try await alice.rooms().isEmpty)
                let names = (10..<25).map { "room \($0)" }
                for (index, name) in names.enumerated() {
                    try await alice.join(room: name, timeout: patience)
                    #expect(try await alice.rooms().map(\.name.text) == Array(names[...index]))
                }
                for (index, name) in names.enumerated() {
                    try await alice.leave(room: name, timeout: patience)
                    #expect(try await alice.rooms().map(\.name.text) == Array(names[(index + 1)...]))
                }
            }
        }
    }

    //
    @Test("a message in a room that is not open changes its summary")
    func updates() async throws {
        try await withRelay { address in
            try await withClient("alice", at: address) { alice in
                try await alice.join(room: "lobby", timeout: patience)
                try await withClient("bob", at: address) { bob in
                    try await bob.join(room: "lobby", timeout: patience)
                    let room = try await bob.open(room: "lobby")
                    _ = try await room.send("hello").accepted()
                }
                let summary = try #require(
                    await alice.roomUpdates.first(until: { $0.summary?.lastOffset == 1 })?.summary)
                #expect(summary.lastMessage?.text == "hello" && summary.unreadCount == 1 && summary.isJoined)
                try await alice.markRead(upTo: RoomCursor(log: summary.log, offset: 1), in: "lobby", timeout: patience)
                let read = try await alice.roomUpdates.first(until: { $0.summary?.readUpTo == 1 })?.summary
                #expect(read?.unreadCount == 0)
            }
        }
    }

    @Test("an iteration that begins before the start yields the list and a change, and ends with the client")
    func iterationBeforeStart() async throws {
        try await withRelay { address in
            let client = try Client(to: address, as: .anonymous("alice"))
            var iterator = client.roomUpdates.makeAsyncIterator()
            try await client.start()
            #expect(await iterator.next() == .list([]))
            try await client.join(room: "lobby", timeout: patience)
            #expect(await iterator.next()?.summary?.name.text == "lobby")
            await client.stop()
            while await iterator.next() != nil {}
        }
    }

    @Test("the stop or the release of a client that was never started ends its iterations")
    func iterationWithoutStart() async throws {
        var client: Client? = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"))
        let stopped = try #require(client?.roomUpdates)
        let waiting = Task { try await stopped.first { _ in true } }
        await client?.stop()
        #expect(try await waiting.value == nil)
        #expect(try await stopped.first { _ in true } == nil)
        client = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"))
        let released = try #require(client?.roomUpdates)
        client = nil
        #expect(try await released.first { _ in true } == nil)
    }

    //
    @Test("an invitation reaches the other account with its inviter, and a stranger cannot invite")
    func invitations() async throws {
        try await withRelay { address in
            try await withClient("alice", at: address) { alice in
                await #expect(throws: MartletError.answeredWithFailure(.notJoined)) {
                    try await alice.invite("bob", to: "lobby", timeout: patience)
                }
                try await alice.join(room: "lobby", timeout: patience)
                try await alice.invite("bob", to: "lobby", timeout: patience)
                try await withClient("bob", at: address) { bob in
                    let rooms = try await bob.rooms()
                    #expect(rooms.map(\.membership) == [.invited(by: AccountName("alice"))])
                    try await bob.decline(room: "lobby", timeout: patience)
                }
            }
        }
    }

    //
    @Test("a request that belongs to no room is answered by the relay's application")
    func request() async throws {
        try await withRelay(requestHandler: Bank()) { address in
            try await withClient("alice", at: address) { alice in
                let answer = try await alice.request("balance", timeout: patience)
                #expect(answer.text == "alice: 5")
                await #expect(throws: MartletError.answeredWithFailure(.unknownMethod)) {
                    try await alice.request("other", timeout: patience)
                }
            }
        }
    }

    @Test("calls before the start and after the stop throw notStarted and stopped")
    func phases() async throws {
        let client = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"))
        await #expect(throws: MartletError.notStarted) { try await client.rooms() }
        try await client.start()
        await client.stop()
        await #expect(throws: MartletError.stopped) { try await client.rooms() }
        var iterator = client.roomUpdates.makeAsyncIterator()
        #expect(await iterator.next() == nil)
    }
}

extension RoomListUpdate {
    /// The summary of the one room that the test uses.
    fileprivate var summary: RoomSummary? {
        switch self {
        case .list(let rooms): rooms.first
        case .changed(let room): room
        case .removed: nil
        }
    }
}
