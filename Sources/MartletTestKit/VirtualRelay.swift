public import MartletProtocol
public import MartletWire

/// A relay engine in a virtual world, with a store in memory that can be slow and can be made to fail.
public final class VirtualRelay {
    /// The engine, of several loops the first; call its events through `VirtualWorld.act`.
    public internal(set) var engine: RelayEngine {
        _read { yield loops.first }
        _modify { yield &loops.first }
    }
    let loops: VirtualLoops
    /// Every message of every room that the store has ever made durable.
    public internal(set) var log: [RoomName: [LogEntry]] = [:]
    /// How long the store takes for anything; what is on its way to it when the relay dies is lost.
    public var storeDelay = Duration.zero
    /// Whether the store refuses to append.
    public var refusesAppends = false
    /// Whether the store takes the first half of what it is to append, and fails with the rest.
    public var refusesHalves = false
    /// Whether the store refuses to load rooms.
    public var refusesLoads = false
    /// Whether the store refuses to read messages.
    public var refusesReads = false
    /// How long it takes to check who somebody is.
    public var authenticationDelay = Duration.zero
    /// Accounts that are not let in, and what they are told.
    public var refusals: [AccountName: Notice] = [:]
    /// Requests that name no recipient, in the order in which they came.
    public internal(set) var requests: [(at: MemberHandle, request: Request)] = []
    /// Whether requests that name no recipient are answered at once, that there is no such method.
    public var answersRequests = true
    /// Sees what the engine notes, at the moment it does. It must not call the world.
    public var onNote: ((RelayNote) -> Void)?
    /// What the engine noted.
    public internal(set) var notes: [RelayNote] = []
    /// What a lost log had, by its identity.
    public private(set) var lostLogs: [LogID: [LogEntry]] = [:]
    private var logIDs: [RoomName: LogID] = [:]
    private var logRandom: SeededRandom
    private var watermarks: [RoomName: [DeviceKey: UInt64]] = [:]
    private var heads: [RoomName: UInt64] = [:]
    /// The first offset of each room that the store has not let go of.
    private var firstKept: [RoomName: UInt64] = [:]
    private var random: SeededRandom

    /// How long what one loop tells another takes; always the same, so that it keeps its order.
    private static let tellDelay = Duration.microseconds(100)

    /// Work that takes the relay's shell a while.
    enum Work {
        case authenticate(ConnectionKey, AuthenticationRequest)
        case load(RoomName)
        case append(RoomName, [LogEntry])
        case read(RoomName, MemberHandle, ReadRange)
        case tell(Int, [LoopMessage])
    }

    init(_ configuration: RelayConfiguration, loopCount: Int = 1, seed: UInt64) {
        loops = VirtualLoops(configuration, count: loopCount, seed: seed)
        random = SeededRandom(seed: seed)
        logRandom = SeededRandom(seed: ~seed)
    }

    /// A relay in another's place: it has the store and the operator's wishes, and nothing of what was in memory.
    init(_ configuration: RelayConfiguration, loopCount: Int, after other: VirtualRelay, seed: UInt64) {
        loops = VirtualLoops(configuration, count: loopCount, seed: seed)
        random = SeededRandom(seed: seed)
        logRandom = other.logRandom
        lostLogs = other.lostLogs
        logIDs = other.logIDs
        log = other.log
        watermarks = other.watermarks
        heads = other.heads
        firstKept = other.firstKept
        storeDelay = other.storeDelay
        refusesAppends = other.refusesAppends
        refusesHalves = other.refusesHalves
        refusesLoads = other.refusesLoads
        refusesReads = other.refusesReads
        authenticationDelay = other.authenticationDelay
        refusals = other.refusals
        answersRequests = other.answersRequests
        requests = other.requests
        notes = other.notes
        onNote = other.onNote
    }

    /// The store lets go of a room's messages before `offset`.
    public func trim(_ room: RoomName, before offset: UInt64) {
        firstKept[room] = max(first(room), offset)
    }

    /// The identity of a room's log.
    public func logID(_ room: RoomName) -> LogID {
        if let id = logIDs[room] { return id }
        let id = LogID(rawValue: logRandom.next())
        logIDs[room] = id
        return id
    }

    /// What a log has, be it lost by now; nil when the store never had it.
    public func entries(of id: LogID, in room: RoomName) -> [LogEntry]? {
        logIDs[room] == id ? log[room] ?? [] : lostLogs[id]
    }

    /// The store loses a room's log, with the relay that has it in memory down: the next one begins at offset 1.
    public func loseLog(of room: RoomName) {
        lostLogs[logID(room)] = log[room] ?? []
        log[room] = nil
        logIDs[room] = nil
        watermarks[room] = nil
        heads[room] = nil
        firstKept[room] = nil
    }

    /// Takes note of what the engine wants and returns what others have to do: the network's, and what takes a while.
    func drain(now: Instant) -> (network: [RelayOutput], work: [(Work, Duration)]) {
        var network: [RelayOutput] = []
        var work: [(Work, Duration)] = []
        while let output = loops.nextOutput(now: now) {
            switch output {
            case .authenticate(let key, let request):
                later(.authenticate(key, request), authenticationDelay, &work, now: now)
            case .load(let room): later(.load(room), storeDelay, &work, now: now)
            case .append(let room, let entries): later(.append(room, entries), storeDelay, &work, now: now)
            case .read(let room, let handle, let range): later(.read(room, handle, range), storeDelay, &work, now: now)
            case .request(_, let handle, let request):
                requests.append((handle, request))
                guard answersRequests else { break }
                loops.respond(to: handle, Response(correlation: request.correlation, status: .unknownMethod))
            case .note(let note, _):
                notes.append(note)
                onNote?(note)
            case .transmit, .close, .pauseReading, .resumeReading: network.append(output)
            case .tell(let loop, let messages): work.append((.tell(loop, messages), VirtualRelay.tellDelay))
            case .handOver: preconditionFailure("that is between the loops")
            }
        }
        return (network, work)
    }

    /// Does a piece of work and tells the engine.
    func perform(_ work: Work, now: Instant) {
        switch work {
        case .authenticate(let key, let request):
            loops.authenticated(key, answer(request), now: now)
        case .load(let room):
            let head = heads[room] ?? 0
            let snapshot = RoomSnapshot(
                log: logID(room), head: head, first: first(room), watermarks: watermarks[room] ?? [:])
            loops.loaded(room, refusesLoads ? nil : snapshot)
        case .append(let room, let entries):
            let taken = refusesAppends ? [] : refusesHalves ? Array(entries.prefix(entries.count / 2)) : entries
            store(taken, in: room)
            loops.stored(room, upTo: taken.last?.offset, messageCount: taken.count)
        case .tell(let loop, let messages): loops.receive(messages, at: loop, now: now)
        case .read(let room, let handle, let range):
            loops.read(handle, refusesReads ? nil : entries(of: room, in: range), first: first(room))
        }
    }

    /// Makes messages durable.
    func store(_ entries: [LogEntry], in room: RoomName) {
        for entry in entries {
            log[room, default: []].append(entry)
            heads[room] = entry.offset
            let device = DeviceKey(account: entry.sender, device: entry.device)
            watermarks[room, default: [:]][device] = max(watermarks[room]?[device] ?? 0, entry.counter)
        }
    }

    /// As many entries as were asked for, and at least one if there is one.
    private func entries(of room: RoomName, in range: ReadRange) -> [LogEntry] {
        var byteCount = 0
        let from = max(range.from, first(room))
        return (log[room] ?? []).drop { $0.offset < from }.prefix(range.maxCount).prefix { entry in
            defer { byteCount += entry.body.bytes.count }
            return byteCount == 0 || byteCount + entry.body.bytes.count <= range.maxByteCount
        }.map(\.self)
    }

    /// The first offset of a room that the store keeps, or will have.
    func first(_ room: RoomName) -> UInt64 { firstKept[room] ?? 1 }

    private func later(_ work: Work, _ delay: Duration, _ list: inout [(Work, Duration)], now: Instant) {
        if delay == .zero { perform(work, now: now) } else { list.append((work, delay)) }
    }

    private func answer(_ request: AuthenticationRequest) -> AuthenticationAnswer {
        if let notice = refusals[request.account] { return .refused(notice) }
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
