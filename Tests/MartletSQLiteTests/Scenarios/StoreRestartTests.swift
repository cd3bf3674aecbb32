import Foundation
import Martlet
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelaySQLite

/// A relay that is restarted with its store on disk, with clients that keep running.
@Suite(.timeLimit(.minutes(10))) struct StoreRestartTests {
    #if os(Linux)
        private static let host = "127.78.0.2"
    #else
        private static let host = "127.0.0.1"
    #endif
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A running relay and its store.
    private struct Running {
        let relay: Relay
        let store: SQLiteStore
        let port: UInt16

        func stop() async {
            await relay.shutdown()
            await store.close()
        }
    }

    /// Starts a relay on an address whose ports no other test and no connection takes between two relays.
    private func start(port: UInt16 = 0) async throws -> Running {
        let store = try await SQLiteStore(at: folder.path)
        let address = SocketAddress(try #require(IPAddress(Self.host)), port: port)
        var configuration = Relay.Configuration(addresses: [address])
        configuration.limits = .unlimited
        let relay = Relay(configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll)
        return Running(relay: relay, store: store, port: try relay.start()[0].port)
    }

    private func client(_ name: String, _ port: UInt16) throws -> Client {
        var configuration = Client.Configuration()
        configuration.flushTimeout = .seconds(3600)
        configuration.reconnect.base = .milliseconds(1)
        configuration.reconnect.cap = .milliseconds(10)
        configuration.reconnect.peerClosedBase = .milliseconds(1)
        return try Client(to: "martlet://\(Self.host):\(port)", as: .anonymous(name), configuration: configuration)
    }

    private func texts(_ count: Int, _ room: Martlet.Room) async throws -> [String] {
        var texts: [String] = []
        for try await message in room.messages {
            texts.append(message.text ?? "")
            if texts.count == count { break }
        }
        return texts
    }

    //
    @Test func `messages before, during and after a restart -> each is accepted and delivered once, in order`()
        async throws
    {
        var running = try await start()
        let port = running.port
        try await withClient(client("alice", port)) { alice in
            try await withClient(client("bob", port)) { bob in
                let (hers, his) = (try await alice.open(room: "lobby"), try await bob.open(room: "lobby"))
                async let received = texts(900, his)
                var handles: [MessageHandle] = []
                for restart in 0..<3 {
                    for number in 1...300 { handles.append(try await hers.send("\(restart * 300 + number)")) }
                    _ = try await handles[restart * 300 + 20].accepted()
                    guard restart < 2 else { break }
                    await running.stop()
                    running = try await start(port: port)
                }
                #expect(try await received == (1...900).map { "\($0)" })
                for (index, handle) in handles.enumerated() {
                    // The offset is unknown for a message that the earlier relay stored.
                    let offset = try await handle.accepted()
                    #expect(offset == UInt64(index + 1) || offset == 0)
                }
            }
        }
        let history = try await running.store.read(.all, of: .lobby)
        #expect(history.entries.map(\.counter) == history.entries.map(\.counter).sorted())
        #expect(history.offsets == Array(1...900))
        await running.stop()
    }

    //
    @Test func `a backup in place of the store -> each reader continues at its cursor or at the branch`() async throws {
        var running = try await start()
        let port = running.port
        let backup = folder.file("backup")
        try await withClient(client("alice", port)) { alice in
            let room = try await alice.open(room: "lobby")
            for number in 1...6 {
                _ = try await room.send("\(number)").accepted()
                if number == 4 { try StoreContents(path: folder.storePath).backUp(to: backup) }
            }
        }
        let first = try #require(try await running.store.load(.lobby).log)
        await running.stop()
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.storePath + suffix) }
        try FileManager.default.removeItem(atPath: folder.storePath)
        try FileManager.default.copyItem(atPath: backup, toPath: folder.storePath)
        running = try await start(port: port)
        try await withClient(client("alice", port)) { alice in
            let room = try await alice.open(room: "lobby")
            for number in 105...108 { _ = try await room.send("\(number)").accepted() }
        }
        let log = try await running.store.load(.lobby).log
        for (cursor, kept, texts) in [
            (2, 2, ["3", "4", "105", "106", "107", "108"]), (6, 4, ["105", "106", "107", "108"]),
        ] as [(UInt64, UInt64, [String])] {
            try await withClient(client("bob", port)) { bob in
                let position = RoomCursor(log: first, offset: cursor)
                let room = try await bob.open(room: "lobby", options: Room.Options(from: .cursor(position)))
                var items: [RoomItem] = []
                for try await item in room.items {
                    items.append(item)
                    if items.count == texts.count + 1 { break }
                }
                #expect(items.first == .logReplaced(previous: position, current: RoomCursor(log: log, offset: kept)))
                #expect(items.compactMap { if case .message(let message) = $0 { message.text } else { nil } } == texts)
            }
        }
        await running.stop()
    }

    //
    @Test func `read messages -> their offset is in the store after a restart`() async throws {
        let running = try await start()
        try await withClient(client("alice", running.port)) { alice in
            try await withClient(client("bob", running.port)) { bob in
                let (hers, his) = (try await alice.open(room: "lobby"), try await bob.open(room: "lobby"))
                let handle = try await hers.send("hello")
                #expect(try await texts(1, his) == ["hello"])
                his.markRead(upTo: 1)
                for await state in handle.states { if case .read = state { break } }
                _ = try await hers.send("again").accepted()
            }
        }
        await running.stop()
        let store = try await SQLiteStore(at: folder.path)
        let progress = try await store.load(.lobby).progress
        #expect(progress[AccountName("bob")]?.read == 1)
    }
}
