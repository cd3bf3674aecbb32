import Foundation
import Martlet
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelaySQLite

/// The erasure of an account's messages, with a store on disk.
@Suite(.timeLimit(.minutes(10))) struct AccountErasureTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func start() async throws -> (relay: Relay, store: SQLiteStore, address: String) {
        let store = try await SQLiteStore(at: folder.path)
        var configuration = try Relay.Configuration(port: 0)
        configuration.engine = .patient
        configuration.engine.serverAccount = "server"
        configuration.limits = .unlimited
        let relay = Relay(configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll)
        return (relay, store, "martlet://\(try relay.start()[0])")
    }

    private func withClient(
        _ account: String, at address: String, _ body: (Martlet.Room) async throws -> Void
    ) async throws {
        let client = try Client(to: address, as: .anonymous(account))
        try await Martlet.withClient(client) { client in try await body(try await client.open(room: "lobby")) }
    }

    //
    @Test func `an interrupted erasure that is repeated -> no text remains, also after a restart and in the files`()
        async throws
    {
        let first = try await start()
        try await withClient("bob", at: first.address) { room in
            for number in 1...40 {
                let sent = try await room.send("the secret \(number)")
                try await sent.accepted()
                if number == 1 { try await room.edit(sent, text: "the secret edit").accepted() }
            }
        }
        try await withClient("alice", at: first.address) { room in try await room.send("mine").accepted() }
        #expect(try await first.relay.eraseMessages(of: "bob", in: "lobby").count == 32)
        var place: RelayPlace?
        var count = 0
        repeat {
            let step = try await first.relay.eraseMessages(of: "bob", in: "lobby", from: place)
            (count, place) = (count + step.count, step.next)
        } while place != nil
        #expect(count == 8)
        await first.relay.shutdown()
        await first.store.close()
        let second = try await start()
        try await withClient("carol", at: second.address) { room in
            let page = try await room.messages(after: RoomCursor(offset: 0), limit: 256)
            #expect(page.messages.count(where: \.content.isErased) == 41)
            #expect(page.messages.compactMap(\.text) == ["mine"])
        }
        #expect(try await second.relay.eraseMessages(of: "bob", in: "lobby").count == 0)
        await second.relay.shutdown()
        await second.store.close()
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(file)"))
            #expect(bytes.range(of: Data("the secret".utf8)) == nil, "\(file)")
        }
    }
}
