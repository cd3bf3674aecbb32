import Martlet
import MartletLink
import MartletRelay
import MartletSQLite

extension RelayConfiguration {
    /// A relay whose timeouts are too long to expire on a busy machine.
    static var patient: RelayConfiguration {
        var configuration = RelayConfiguration()
        configuration.link.handshakeTimeout = .seconds(3600)
        configuration.link.authTimeout = .seconds(3600)
        configuration.link.frameTimeout = .seconds(3600)
        return configuration
    }
}

/// Runs a relay on a free port while `body` runs. The argument of `body` is its address.
func withRelay(
    attachments: (any AttachmentStore)? = nil, telemetry: (any TelemetrySink)? = nil,
    _ body: (String) async throws -> Void
) async throws {
    var configuration = try Relay.Configuration(port: 0)
    configuration.engine = .patient
    configuration.limits = .unlimited
    let relay = Relay(
        configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll,
        telemetry: telemetry, attachments: attachments)
    let address = try relay.start()[0]
    do { try await body("martlet://\(address)") } catch {
        await relay.shutdown()
        throw error
    }
    await relay.shutdown()
}

/// An address at which no relay listens.
let nowhere = "martlet://127.0.0.1:1"

/// Runs a client while `body` runs, with the outbox in a file. The file is closed afterwards. A client without a relay
/// leaves its messages in the outbox.
@discardableResult
func withClient<Result>(
    _ account: String, at relay: String, outbox path: String, options: SQLiteOutbox.Options = .init(),
    telemetry: Telemetry.Configuration? = nil, _ body: (Client) async throws -> Result
) async throws -> Result {
    var configuration = Client.Configuration()
    // Points are stored at the end, for which the client waits.
    configuration.flushTimeout = relay == nowhere && telemetry == nil ? .zero : .seconds(3600)
    configuration.telemetry = telemetry
    let outbox = SQLiteOutbox(path: path, options: options)
    let client = try Client(to: relay, as: .anonymous(account), outbox: outbox, configuration: configuration)
    do {
        let result = try await withClient(client, body)
        await outbox.close()
        return result
    } catch {
        await outbox.close()
        throw error
    }
}

extension Room.Options {
    /// A room that is opened without a relay.
    static var offline: Room.Options { Room.Options(waitsForRelay: false) }
}

/// The texts of the first messages of a room.
func texts(_ count: Int, in room: String, at relay: String) async throws -> [String?] {
    let reader = try Client(to: relay, as: .anonymous("reader"))
    return try await withClient(reader) { client in
        let room = try await client.open(room: room, options: Room.Options(from: .start))
        var texts: [String?] = []
        for try await message in room.messages {
            texts.append(message.text)
            if texts.count == count { break }
        }
        return texts
    }
}
