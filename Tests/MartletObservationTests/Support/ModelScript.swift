import Foundation
import Martlet
import MartletLink
import MartletRelay
import MartletTimeline
import MartletWire

@testable import MartletObservation

/// A started client of ada with a timeline and a synchronization, and models that do not wait.
@MainActor
struct ModelScript {
    nonisolated static let log = LogID(rawValue: 0xA)
    /// An address at which no relay listens.
    nonisolated static let nowhere = "martlet://127.0.0.1:1"

    let client: Client
    let timeline: Timeline
    let sync: TimelineSync
    let clock = FastClock()

    /// Runs a client while `body` runs.
    static func run(
        at relay: String = nowhere, account: String = "ada", isRunning: Bool = false,
        _ body: (ModelScript) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let timeline = try await Timeline(
            path: folder.appendingPathComponent("timeline").path, account: AccountName(account)!)
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero
        let client = try Client(to: relay, as: .anonymous(account), configuration: configuration)
        let script = ModelScript(client: client, timeline: timeline, sync: TimelineSync(client, timeline))
        try await client.start()
        let sync = script.sync
        let running = isRunning ? Task { try await sync.run() } : nil
        do { try await body(script) } catch {
            await script.end(running)
            throw error
        }
        await script.end(running)
    }

    private func end(_ running: Task<Void, any Error>?) async {
        running?.cancel()
        _ = await running?.result
        await client.stop()
        await timeline.close()
    }

    /// Runs a model while `body` runs.
    func with(_ run: @escaping @MainActor @Sendable () async -> Void, _ body: () async throws -> Void) async throws {
        let running = Task { await run() }
        do { try await body() } catch {
            running.cancel()
            await running.value
            throw error
        }
        running.cancel()
        await running.value
    }

    func id(_ counter: UInt64, _ sender: String = "bob") -> MessageID {
        MessageID(sender: AccountName(sender)!, device: DeviceID(rawValue: 7), counter: counter)
    }

    func text(_ offset: UInt64, _ text: String? = nil, by sender: String = "bob") -> RoomItem {
        message(offset, MessageContent(text: text ?? "\(offset)"), by: sender)
    }

    func reaction(_ offset: UInt64, _ text: String, to counter: UInt64, by sender: String = "bob") throws -> RoomItem {
        let body = MessageBody.reaction(text, to: MessageReference(id(counter)), isRemoved: false)
        return message(offset, try body.content, by: sender)
    }

    private func message(_ offset: UInt64, _ content: MessageContent, by sender: String) -> RoomItem {
        .message(
            RoomMessage(
                id: id(offset, sender), at: RoomCursor(log: Self.log, offset: offset), content: content,
                acceptedAt: 1000 + offset))
    }

    func model(pageCount: Int = 50, maxEntryCount: Int = 300) -> ConversationModel {
        ConversationModel(of: "a", in: sync, pageCount: pageCount, maxEntryCount: maxEntryCount, clock: clock)
    }
}

extension ConversationModel {
    /// The texts of the window, with marks: `*` edited, `…` pending, `!` failed, and reactions.
    var texts: [String] { rows.map { $0.value.short } }
}

extension TimelineEntry {
    var short: String {
        let text =
            switch content {
            case .message(.text(let text)), .message(.reply(_, let text)): text
            case .gap(let offsets): "gap \(offsets.lowerBound)-\(offsets.upperBound)"
            default: "\(content)"
            }
        let mark =
            switch state {
            case .accepted: ""
            case .pending: "…"
            case .failed: "!"
            }
        return text + (isEdited ? "*" : "") + mark + reactions.map { " \($0.text)\($0.count)" }.joined()
    }
}

/// Runs a relay on a free port while `body` runs. The argument of `body` is its address.
@MainActor
func withRelay(_ body: (String) async throws -> Void) async throws {
    var configuration = try Relay.Configuration(port: 0)
    configuration.engine.link.handshakeTimeout = .seconds(3600)
    configuration.engine.link.authTimeout = .seconds(3600)
    configuration.engine.link.frameTimeout = .seconds(3600)
    configuration.limits = .unlimited
    let relay = Relay(configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
    let address = try relay.start()[0]
    do { try await body("martlet://\(address)") } catch {
        await relay.shutdown()
        throw error
    }
    await relay.shutdown()
}
