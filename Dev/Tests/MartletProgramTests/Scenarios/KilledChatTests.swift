import Foundation
import Martlet
import MartletDatabase
import MartletRelay
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletLab

/// The program `martlet` as a process that is killed.
@Suite("A chat that is killed", .timeLimit(.minutes(10)))
struct KilledChatTests {
    private func startRelay(port: UInt16) throws -> (Relay, UInt16) {
        let configuration = try Relay.Configuration(port: port)
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        return (relay, try relay.start()[0].port)
    }

    private func chat(port: UInt16, outbox: String, input: FileHandle?) throws -> ChildProcess {
        try ChildProcess(
            ["chat", "--to", "martlet://127.0.0.1:\(port)", "--account", "alice", "--outbox", outbox],
            input: input, output: nil)
    }

    // C-74
    @Test func `ten lines without a relay, kill -9, a new chat with a relay → ten lines once, in order`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let outbox = folder.appendingPathComponent("outbox").path
        let (absent, port) = try startRelay(port: 0)
        await absent.shutdown()

        let pipe = Pipe()
        let first = try chat(port: port, outbox: outbox, input: pipe.fileHandleForReading)
        let lines = (1...10).map { "line \($0)" }
        try pipe.fileHandleForWriting.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
        while !Task.isCancelled, storedCount(outbox) < lines.count { await Task.yield() }
        first.signal(SIGKILL)
        #expect(await first.exitCode() == 128 + SIGKILL)

        let (relay, _) = try startRelay(port: port)
        #expect(try await chat(port: port, outbox: outbox, input: nil).exitCode() == 0)
        let reader = try Client(to: "martlet://127.0.0.1:\(port)", as: .anonymous("bob"))
        try await withClient(reader) { client in
            let room = try await client.open(room: "lobby", options: Room.Options(from: .start))
            #expect(room.lastOffset == 10)
            var received: [String?] = []
            for try await message in room.messages {
                received.append(message.text)
                if received.count == lines.count { break }
            }
            #expect(received == lines)
        }
        await relay.shutdown()
    }

    /// The number of messages in the file of a running process, which no other process can open: it is counted in a
    /// copy.
    private func storedCount(_ path: String) -> Int {
        let copy = "\(path)-copy"
        for suffix in ["", "-wal"] {
            try? FileManager.default.removeItem(atPath: copy + suffix)
            try? FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
        guard let database = try? Database(path: copy) else { return 0 }
        return (try? database.prepare("SELECT count(*) FROM message").firstInt64()).flatMap { $0 }.map { Int($0) } ?? 0
    }
}
