package import Martlet
package import MartletLink
package import MartletTestKit
package import MartletWire

/// A client engine in a virtual world, with an application that takes and records every message.
package final class VirtualClient {
    /// The answer of the client's shell to a request for a credential.
    package enum CredentialSource: Sendable {
        /// The credential, or nil if none is needed, after a delay.
        case gives(Credential?, after: Duration = .zero)
        /// A failure, after a delay.
        case fails(after: Duration = .zero)
        /// No answer.
        case hangs
    }

    /// The engine. Its events are called through `VirtualWorld.act`.
    package internal(set) var engine: ClientEngine
    /// The path to the relay.
    package var conditions: PathConditions
    /// Whether bytes pass in both directions. Blocked bytes are delayed until `VirtualWorld.restore`, like the
    /// retransmissions of a stream.
    package var isReachable: Bool { blocked == nil }
    var blocked: PathDirection?
    /// Whether the client's host reads; otherwise the stream's window fills.
    package internal(set) var isReading = true
    /// The guarantees of the carrier.
    package let carrier: Carrier
    /// The source of credentials.
    package var credentials = CredentialSource.gives(nil)
    /// Whether outputs are recorded. Without recording, memory does not grow with the run.
    package var remembers = true
    /// Called for every output except `.transmit`, when it occurs. It must not call the world.
    package var onOutput: ((ClientOutput) -> Void)?
    /// The recorded outputs except `.transmit`, with their times.
    package internal(set) var outputs: [(at: Instant, output: ClientOutput)] = []
    /// Received messages by room, in order.
    package internal(set) var received: [RoomID: [(at: Instant, message: Message)]] = [:]
    /// Accepted counters by room.
    package internal(set) var accepted: [RoomID: Set<UInt64>] = [:]
    /// The bytes of the current process's uploads.
    package var uploads: [TransferID: [UInt8]] = [:]
    /// The bytes that were downloaded.
    package internal(set) var downloads: [TransferID: [UInt8]] = [:]
    /// Whether the application takes messages; otherwise their credit is not released.
    package var takesMessages = true
    var nextCounter: UInt64 = 1
    var untaken: [(room: RoomID, byteCount: Int, cursor: RoomCursor)] = []
    /// The log of each open room.
    private var logs: [RoomID: LogID] = [:]

    let configuration: ClientConfiguration

    init(_ configuration: ClientConfiguration, _ conditions: PathConditions, seed: UInt64, now: Instant) {
        self.configuration = configuration
        engine = ClientEngine(configuration: configuration, seed: seed, now: now)
        self.conditions = conditions
        carrier = configuration.link.carrier
    }

    /// The received texts of a room, in order.
    package func texts(in room: RoomID) -> [String] {
        (received[room] ?? []).compactMap(\.message.text)
    }

    /// The events of a room except received messages, in order.
    package func events(in room: RoomID) -> [RoomEvent] {
        outputs.compactMap { entry in
            guard case .room(room, let event) = entry.output else { return nil }
            if case .message = event { return nil }
            return event
        }
    }

    /// The client's states, in order.
    package var states: [LinkStatus.State] {
        outputs.compactMap { entry in
            if case .link(.status(let status)) = entry.output { status.state } else { nil }
        }
    }

    /// The outcome of a request, if there is one.
    package func outcome(of request: UInt64) -> RequestOutcome? {
        for entry in outputs {
            if case .response(request, let outcome) = entry.output { return outcome }
        }
        return nil
    }

    /// Records the engine's outputs and returns those for the world.
    func drain(now: Instant) -> [ClientOutput] {
        var forWorld: [ClientOutput] = []
        while let output = engine.nextOutput(now: now) {
            if case .link(.transmit) = output {
                forWorld.append(output)
                continue
            }
            if case .transfer(let id, .received(_, let bytes)) = output {
                downloads[id, default: []].append(contentsOf: bytes)
            }
            onOutput?(output)
            if remembers { outputs.append((now, output)) }
            switch output {
            case .link(.connect), .link(.startBackup), .link(.close), .link(.fetchCredential), .replaceDevice:
                forWorld.append(output)
            case .room(let room, .message(let message, let byteCount)):
                if remembers { received[room, default: []].append((now, message)) }
                untaken.append((room, byteCount, RoomCursor(log: logs[room], offset: message.relay?.offset ?? 0)))
                if takesMessages { takeAll(now: now) }
            case .room(let room, .opened(_, _, _, let log, _)): logs[room] = log
            case .room(let room, .accepted(let run)) where remembers:
                accepted[room, default: []].formUnion(run.counters)
            case .transfer(let id, .needs(let position, let byteCount)):
                guard let bytes = uploads[id] else { break }
                let part = Array(bytes[Int(position)..<Int(position) + byteCount])
                engine.provide(part, at: position, for: id, now: now)
            case .transfer(let id, .received): engine.consumed(id, now: now)
            case .link(.transmit), .link(.answerChallenge), .link(.status), .room, .account, .response, .transfer,
                .link(.stopped):
                break
            }
        }
        return forWorld
    }

    func takeAll(now: Instant) {
        let all = untaken
        untaken = []
        for message in all {
            engine.consumed(message.room, byteCount: message.byteCount, upTo: message.cursor, now: now)
        }
    }
}
