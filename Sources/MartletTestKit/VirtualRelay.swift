public import MartletProtocol
public import MartletWire

/// A relay engine in a virtual world, with a store in memory that can be made to fail.
public final class VirtualRelay {
    /// The engine; look, do not touch.
    public internal(set) var engine: RelayEngine
    /// Every message of every room, as the store has it.
    public internal(set) var log: [RoomName: [LogEntry]] = [:]
    /// Whether the store refuses to append.
    public var refusesAppends = false
    /// Accounts that are not let in.
    public var unwelcome: Set<AccountName> = []
    /// What the engine noted.
    public internal(set) var notes: [RelayNote] = []
    private var random: VirtualRandom

    init(_ configuration: RelayConfiguration, seed: UInt64) {
        engine = RelayEngine(configuration: configuration, seed: seed)
        random = VirtualRandom(seed: seed)
    }

    /// Carries out what the engine wants and returns what concerns connections.
    func drain(now: Instant) -> [RelayOutput] {
        var forNetwork: [RelayOutput] = []
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .authenticate(let key, let request):
                engine.authenticated(key, answer(request), now: now)
            case .load(let room):
                let entries = log[room] ?? []
                var watermarks: [DeviceKey: UInt64] = [:]
                for entry in entries {
                    let key = DeviceKey(account: entry.sender, device: entry.device)
                    watermarks[key] = max(watermarks[key] ?? 0, entry.counter)
                }
                engine.loaded(
                    room,
                    RoomSnapshot(
                        head: entries.last?.offset ?? 0, first: entries.first?.offset ?? 1, watermarks: watermarks))
            case .append(let room, let entries):
                if !refusesAppends { log[room, default: []] += entries }
                engine.stored(room, upTo: refusesAppends ? nil : entries.last?.offset, messageCount: entries.count)
            case .read(let room, let handle, let range):
                let entries = (log[room] ?? []).filter { $0.offset >= range.from }.prefix(range.maxCount)
                engine.read(handle, Array(entries), first: log[room]?.first?.offset ?? 1)
            case .request(_, let handle, let request):
                let response = Response(
                    correlation: request.correlation, status: .unknownMethod, reason: nil, content: nil)
                engine.respond(to: handle, response)
            case .note(let note):
                notes.append(note)
            case .transmit, .close, .pauseReading, .resumeReading:
                forNetwork.append(output)
            }
        }
        return forNetwork
    }

    private func answer(_ request: AuthenticationRequest) -> AuthenticationAnswer {
        guard !unwelcome.contains(request.account) else { return .refused(Notice(code: .unauthenticated)) }
        let token = ResumeToken(random.next(), random.next(), random.next(), random.next())
        return .accepted(
            request.account, TokenGrant(token: token, digest: digest(token)),
            presented: request.presentedToken.map(digest))
    }

    /// Stands in for SHA-256, which the world has no need of.
    private func digest(_ token: ResumeToken) -> TokenDigest {
        var words: [UInt64] = [1, 2, 3, 4]
        for (index, byte) in token.bytes.enumerated() { words[index / 8] = words[index / 8] << 8 &+ UInt64(byte) }
        return TokenDigest(~words[0], ~words[1], ~words[2], ~words[3])
    }
}
