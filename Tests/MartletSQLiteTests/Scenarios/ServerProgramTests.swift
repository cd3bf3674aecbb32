import Martlet
import MartletLink
import MartletRelay
import MartletSQLite
import MartletWire
import Testing

private func replies(to message: RoomMessage) throws -> [OutgoingMessage] {
    [try OutgoingMessage(text: "echo: \(message.text ?? "")")]
}

private func serve(at url: String, as credentials: Credentials, outbox path: String) async throws {
    // snippet:begin
    let client = try Client(
        to: url, as: credentials, outbox: .sqlite(at: path), configuration: Client.Configuration(.server))
    do {
        try await client.start()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            group.addTask {
                let room = try await client.open(room: "lobby")
                for try await delivery in room.deliveries {
                    try await delivery.done(sending: replies(to: delivery.message))
                }
            }
            defer { group.cancelAll() }
            try await group.next()  // the end or the error of the first task
        }
    } catch is CancellationError {}  // SIGTERM has cancelled this task, and the client has stopped.
    // snippet:end
}

/// The program of Guides/lifecycle.md.
@Suite("A program on a server", .timeLimit(.minutes(10)))
struct ServerProgramTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("outbox")
    }

    @Test func `the program is cancelled → it ends without an error`() async throws {
        for number in 0..<10 {
            let program = Task { [path] in
                try await serve(at: "martlet://127.0.0.1:1", as: .anonymous("bot"), outbox: "\(path).\(number)")
            }
            for _ in 0..<number { await Task.yield() }
            program.cancel()
            try await program.value
        }
    }

    @Test func `the program replies, and a removal from its room → the program ends with roomClosed`() async throws {
        var configuration = try Relay.Configuration(port: 0)
        configuration.engine = .patient
        configuration.engine.serverAccount = AccountName("server")
        configuration.limits = .unlimited
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        let socket = try relay.start()[0]
        let address = "martlet://\(socket)"
        let path = path
        let program = Task { try await serve(at: address, as: .anonymous("bot"), outbox: path) }
        let alice = try Client(to: address, as: .anonymous("alice"))
        try await withClient(alice) { alice in
            let lobby = try await alice.open(room: "lobby")
            try await lobby.send("hello")
            for try await message in lobby.messages where message.text == "echo: hello" { break }
        }
        try await relay.remove(AccountName("bot"), from: RoomName("lobby"))
        let error = await #expect(throws: MartletError.self) { try await program.value }
        #expect(error?.code == .roomClosed && error?.errorCode == .kicked)
        await relay.shutdown()
    }
}
