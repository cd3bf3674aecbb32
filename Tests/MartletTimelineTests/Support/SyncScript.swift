import Foundation
import Martlet
import MartletLink
import MartletRelay
import MartletSQLite
import MartletWire

@testable import MartletTimeline

/// Runs a relay on a free port while `body` runs. The argument of `body` is its address.
func withRelay(
    store: any RoomStore = InMemoryStore(), policy: any RoomPolicy = .allowAll, _ body: (String) async throws -> Void
) async throws {
    var configuration = try Relay.Configuration(port: 0)
    configuration.engine.link.handshakeTimeout = .seconds(3600)
    configuration.engine.link.authTimeout = .seconds(3600)
    configuration.engine.link.frameTimeout = .seconds(3600)
    configuration.limits = .unlimited
    let relay = Relay(configuration: configuration, store: store, authenticator: .allowAll, policy: policy)
    let address = try relay.start()[0]
    do { try await body("martlet://\(address)") } catch {
        await relay.shutdown()
        throw error
    }
    await relay.shutdown()
}

/// An address at which no relay listens.
let nowhere = "martlet://127.0.0.1:1"

/// A client of ada with its outbox and timeline in files.
struct SyncLife: Sendable {
    let client: Client
    let timeline: Timeline
    let sync: TimelineSync

    /// Runs a client with the files of a folder while `body` runs.
    ///
    /// - Parameter isRunning: Whether `run` of the synchronization runs.
    @discardableResult
    static func run<Result>(
        _ files: FileImage, at relay: String, isRunning: Bool = true, options: TimelineSync.Options = .init(),
        outbox wrap: (SQLiteOutbox) -> any Outbox = { $0 }, _ body: (SyncLife) async throws -> Result
    ) async throws -> Result {
        let outbox = SQLiteOutbox(path: files.outbox)
        let timeline = try await Timeline(path: files.timeline, account: AccountName("ada"))
        let result: Swift.Result<Result, any Error>
        do {
            var configuration = Client.Configuration()
            configuration.flushTimeout = .zero
            let client = try Client(
                to: relay, as: .anonymous("ada"), outbox: wrap(outbox), configuration: configuration)
            let life = SyncLife(
                client: client, timeline: timeline, sync: TimelineSync(client, timeline, options: options))
            result = .success(
                try await withClient(client) { _ in
                    let running = isRunning ? Task { try await life.sync.run() } : nil
                    do {
                        let value = try await body(life)
                        running?.cancel()
                        _ = await running?.result
                        return value
                    } catch {
                        running?.cancel()
                        _ = await running?.result
                        throw error
                    }
                })
        } catch {
            result = .failure(error)
        }
        await timeline.close()
        await outbox.close()
        return try result.get()
    }

    /// The last page of a room when it matches.
    @discardableResult
    func page(of room: RoomName = "a", until matches: ([String]) -> Bool) async throws -> [TimelineEntry] {
        var changes = timeline.changes.makeAsyncIterator()
        while true {
            let page = try await timeline.page(of: room)
            if matches(page.map(TimelineScript.short)) { return page }
            guard await changes.next() != nil else { throw CancellationError() }
        }
    }
}

/// The files of an outbox and of a timeline.
final class FileImage: Sendable {
    private let folder = TemporaryFolder()

    var outbox: String { folder.file("outbox") }
    var timeline: String { folder.file("timeline") }

    /// The files as they would be after the end of the process at this time.
    func copy() throws -> FileImage {
        let image = FileImage()
        for (source, target) in [(outbox, image.outbox), (timeline, image.timeline)] {
            for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: source + suffix) {
                try FileManager.default.copyItem(atPath: source + suffix, toPath: target + suffix)
            }
        }
        return image
    }
}

/// The contents of a room's log.
func texts(of room: RoomName = "a", at relay: String) async throws -> [String] {
    try await withClient(try Client(to: relay, as: .anonymous("reader"))) { client in
        let room = try await client.open(room: room, options: Room.Options(from: .start))
        let page = try await room.messages(before: nil, limit: 256)
        return page.messages.map { $0.text ?? "kind \($0.kind.rawValue)" }
    }
}

/// Publishes texts of bob.
func publish(_ texts: String..., in room: RoomName = "a", at relay: String) async throws {
    try await publish(texts, in: room, at: relay)
}

func publish(_ texts: [String], in room: RoomName = "a", at relay: String) async throws {
    try await withClient(try Client(to: relay, as: .anonymous("bob"))) { client in
        let room = try await client.open(room: room)
        for text in texts { _ = try await room.send(text).accepted() }
    }
}
