public import MartletProtocol
public import MartletWire

/// A client engine in a virtual world, with an application that takes every message at once and remembers what it saw.
public final class VirtualClient {
    /// The engine; call its events through `VirtualWorld.act`.
    public internal(set) var engine: ClientEngine
    /// The path to the relay.
    public var conditions: PathConditions
    /// Whether bytes get through; when not, they wait as they would in a stream that sends again.
    public var isReachable = true
    /// What the carrier promises.
    public let carrier: Carrier
    /// Everything the engine put out, with its time, but for `.transmit`.
    public internal(set) var outputs: [(at: Instant, output: ClientOutput)] = []
    /// Texts received by room, in order.
    public internal(set) var received: [RoomID: [(at: Instant, message: Message)]] = [:]
    /// Counters accepted by room.
    public internal(set) var accepted: [RoomID: Set<UInt64>] = [:]
    /// Whether the application takes messages; when not, their credit is kept.
    public var takesMessages = true
    var nextCounter: UInt64 = 1
    var untaken: [(room: RoomID, byteCount: Int, offset: UInt64)] = []

    init(_ configuration: ClientConfiguration, _ conditions: PathConditions, seed: UInt64, now: Instant) {
        engine = ClientEngine(configuration: configuration, seed: seed, now: now)
        self.conditions = conditions
        carrier = configuration.carrier
    }

    /// The texts received in a room, in order.
    public func texts(in room: RoomID) -> [String] {
        (received[room] ?? []).compactMap(\.message.text)
    }

    /// Carries out what the engine wants and returns what concerns connections.
    func drain(now: Instant) -> [ClientOutput] {
        var forNetwork: [ClientOutput] = []
        while let output = engine.nextOutput(now: now) {
            if case .transmit = output { forNetwork.append(output) } else { outputs.append((now, output)) }
            switch output {
            case .fetchCredential(let id): engine.credential(nil, for: id, now: now)
            case .connect, .close: forNetwork.append(output)
            case .room(let room, .message(let message, let byteCount)):
                received[room, default: []].append((now, message))
                untaken.append((room, byteCount, message.relay?.offset ?? 0))
                if takesMessages { takeAll(now: now) }
            case .room(let room, .accepted(let run)):
                accepted[room, default: []].formUnion(run.counters)
            case .transmit, .status, .room, .response, .stopped: break
            }
        }
        return forNetwork
    }

    func takeAll(now: Instant) {
        let all = untaken
        untaken = []
        for message in all {
            engine.consumed(message.room, byteCount: message.byteCount, upTo: message.offset, now: now)
        }
    }
}
