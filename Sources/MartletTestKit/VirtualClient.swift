public import MartletProtocol
public import MartletWire

/// A client engine in a virtual world, with an application that takes every message at once and remembers what it saw.
public final class VirtualClient {
    /// What the client's shell answers when it is asked for a credential.
    public enum CredentialSource: Sendable {
        /// The credential, or nil when none is needed, after a while.
        case gives(Credential?, after: Duration = .zero)
        /// None, after a while.
        case fails(after: Duration = .zero)
        /// Nothing ever.
        case hangs
    }

    /// The engine; call its events through `VirtualWorld.act`.
    public internal(set) var engine: ClientEngine
    /// The path to the relay.
    public var conditions: PathConditions
    /// Whether bytes get through in both directions; when not, they wait as they would in a stream that sends again.
    /// `VirtualWorld.restore` lets them through.
    public var isReachable: Bool { blocked == nil }
    var blocked: VirtualWorld.Way?
    /// Whether the client's host reads what arrives; when not, the stream's window fills.
    public internal(set) var isReading = true
    /// What the carrier promises.
    public let carrier: Carrier
    /// Where credentials come from.
    public var credentials = CredentialSource.gives(nil)
    /// Whether what the engine puts out is remembered; without it a long run needs no more memory than a short one.
    public var remembers = true
    /// Sees everything the engine puts out, but for `.transmit`, at the moment it does. It must not call the world.
    public var onOutput: ((ClientOutput) -> Void)?
    /// Everything the engine put out, with its time, but for `.transmit`.
    public internal(set) var outputs: [(at: Instant, output: ClientOutput)] = []
    /// Messages received by room, in order.
    public internal(set) var received: [RoomID: [(at: Instant, message: Message)]] = [:]
    /// Counters accepted by room.
    public internal(set) var accepted: [RoomID: Set<UInt64>] = [:]
    /// Whether the application takes messages; when not, their credit is kept.
    public var takesMessages = true
    var nextCounter: UInt64 = 1
    var untaken: [(room: RoomID, byteCount: Int, cursor: RoomCursor)] = []
    /// The log of each room that is open.
    private var logs: [RoomID: LogID] = [:]

    let configuration: ClientConfiguration

    init(_ configuration: ClientConfiguration, _ conditions: PathConditions, seed: UInt64, now: Instant) {
        self.configuration = configuration
        engine = ClientEngine(configuration: configuration, seed: seed, now: now)
        self.conditions = conditions
        carrier = configuration.carrier
    }

    /// The texts received in a room, in order.
    public func texts(in room: RoomID) -> [String] {
        (received[room] ?? []).compactMap(\.message.text)
    }

    /// What happened in a room but for the messages received, in order.
    public func events(in room: RoomID) -> [RoomEvent] {
        outputs.compactMap { entry in
            guard case .room(room, let event) = entry.output else { return nil }
            if case .message = event { return nil }
            return event
        }
    }

    /// Where the client stood, in order.
    public var states: [ClientStatus.State] {
        outputs.compactMap { entry in
            if case .status(let status) = entry.output { status.state } else { nil }
        }
    }

    /// The outcome of a request, when there is one.
    public func outcome(of request: UInt64) -> RequestOutcome? {
        for entry in outputs {
            if case .response(request, let outcome) = entry.output { return outcome }
        }
        return nil
    }

    /// Takes note of what the engine wants and returns what others have to do.
    func drain(now: Instant) -> [ClientOutput] {
        var forWorld: [ClientOutput] = []
        while let output = engine.nextOutput(now: now) {
            if case .transmit = output {
                forWorld.append(output)
                continue
            }
            onOutput?(output)
            if remembers { outputs.append((now, output)) }
            switch output {
            case .connect, .startBackup, .close, .fetchCredential: forWorld.append(output)
            case .room(let room, .message(let message, let byteCount)):
                if remembers { received[room, default: []].append((now, message)) }
                untaken.append((room, byteCount, RoomCursor(log: logs[room], offset: message.relay?.offset ?? 0)))
                if takesMessages { takeAll(now: now) }
            case .room(let room, .opened(_, _, _, let log)): logs[room] = log
            case .room(let room, .accepted(let run)) where remembers:
                accepted[room, default: []].formUnion(run.counters)
            case .transmit, .status, .room, .response, .stopped: break
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
