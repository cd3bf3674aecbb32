package import MartletLink
package import MartletRelay
package import MartletWire

/// A relay engine in a virtual world, with a store that can be slow and can fail: one in memory, or a `SimulatedStore`,
/// whose answers are compared with it.
package final class VirtualRelay {
    /// The engine of the first loop. Its events are called through `VirtualWorld.act`.
    package internal(set) var engine: RelayEngine {
        _read { yield loops.first }
        _modify { yield &loops.first }
    }
    let loops: VirtualLoops
    /// All durable messages of all rooms.
    package internal(set) var log: [RoomName: [LogEntry]] = [:]
    /// The store that answers in place of the one in memory.
    package internal(set) var store: (any SimulatedStore)?
    /// The attachments of all rooms.
    package internal(set) var attachments = VirtualAttachments()
    /// The delay of the store. Pending calls are lost when the relay crashes.
    package var storeDelay = Duration.zero
    /// Whether the store refuses to append.
    package var refusesAppends = false
    /// Whether the store appends the first half of a batch and fails for the rest.
    package var refusesHalves = false
    /// Whether the store refuses to load rooms.
    package var refusesLoads = false
    /// Whether the store refuses to read messages.
    package var refusesReads = false
    /// The delay of an authentication.
    package var authenticationDelay = Duration.zero
    /// Refused accounts and the notices sent to them.
    package var refusals: [AccountName: Notice] = [:]
    /// The duration after which credentials expire; nil if they do not.
    package var credentialLifetime: Duration?
    /// The claims of accepted credentials.
    package var claims = Claims()
    /// The answer to a message of an authentication exchange, which are numbered from 0.
    package var exchange: (_ number: Int, Credential?) -> ExchangeAnswer = { _, _ in .refused }
    /// The delay of a decision of the room policy.
    package var policyDelay = Duration.zero
    /// The room policy; nil for a failure.
    package var policy: (RoomAuthorizationRequest) -> RoomDecision? = { _ in .granted(.all) }
    /// The rooms about which the room policy has not answered in time, in order.
    package internal(set) var overdueRooms: [RoomName] = []
    /// Requests without a recipient, in order; without a room, those of accounts' sessions.
    package internal(set) var requests: [(id: RelayCallID, room: RoomName?, request: Request)] = []
    /// The reports of undelivered messages, if `RelayConfiguration.reportsUndelivered` is set.
    package internal(set) var undelivered: [UndeliveredReport] = []
    /// Whether requests without a recipient are answered with `unknownMethod` at once.
    package var answersRequests = true
    /// The saved roles of rooms, in their stored form.
    package private(set) var roles: [RoomName: [UInt8]] = [:]
    /// The membership records of rooms.
    package var memberships: [RoomName: [AccountName: MembershipRecord]] = [:]
    /// Whether the store refuses to save or to read membership records.
    package var refusesMemberships = false
    /// The results of commands, by number.
    package internal(set) var commandResults: [UInt64: RoomCommandResult] = [:]
    /// The rooms that each account has created.
    package private(set) var createdCounts: [AccountName: Int] = [:]
    /// Called when roles are durable. It must not call the world.
    package var onRolesSaved: ((RoomName, [UInt8]) -> Void)?
    /// Called for every note of the engine, when it occurs. It must not call the world.
    package var onNote: ((RelayNote) -> Void)?
    /// The notes of the engine.
    package internal(set) var notes: [RelayNote] = []
    /// The first offset that the store kept of each lost log.
    private var lostFirstOffsets: [LogID: UInt64] = [:]
    private var logIDs: [RoomName: LogID] = [:]
    private var logRandom: SeededRandom
    private var devices: [RoomName: [DeviceKey: DeviceRecord]] = [:]
    private var progress: [RoomName: [AccountName: AccountProgress]] = [:]
    private var lastOffsets: [RoomName: UInt64] = [:]
    /// The first kept offset of each room.
    private var firstKept: [RoomName: UInt64] = [:]
    private var random: SeededRandom

    /// An answer in an authentication exchange.
    package enum ExchangeAnswer {
        /// The peer has to answer this message.
        case challenge(Credential)
        /// The peer is authenticated, with the last message of the exchange.
        case accepted(final: Credential?)
        /// The peer is refused with `unauthenticated`.
        case refused
    }

    /// Requests of exchanges, and the numbers of their next messages.
    private var exchanges: [ConnectionKey: (request: AuthenticationRequest, number: Int)] = [:]

    /// The delay of messages between loops, constant to preserve their order.
    private static let loopDelay = Duration.microseconds(100)

    /// An asynchronous operation of the relay's shell.
    enum Work {
        case authenticate(ConnectionKey, AuthenticationRequest)
        case continueExchange(ConnectionKey, Credential)
        case store(StoreQuestion)
        case call(RelayCallID, RelayCall)
        case send(Int, [LoopMessage])
    }

    init(_ configuration: RelayConfiguration, loopCount: Int = 1, seed: UInt64) {
        loops = VirtualLoops(configuration, count: loopCount, seed: seed)
        random = SeededRandom(seed: seed)
        logRandom = SeededRandom(seed: ~seed)
    }

    /// A relay that replaces `other`: it has the store and the settings, and no other state.
    init(_ configuration: RelayConfiguration, loopCount: Int, after other: VirtualRelay, seed: UInt64) {
        loops = VirtualLoops(configuration, count: loopCount, seed: seed)
        random = SeededRandom(seed: seed)
        logRandom = other.logRandom
        lostFirstOffsets = other.lostFirstOffsets
        logIDs = other.logIDs
        store = other.store
        attachments = other.attachments
        log = other.log
        devices = other.devices
        progress = other.progress
        lastOffsets = other.lastOffsets
        firstKept = other.firstKept
        storeDelay = other.storeDelay
        refusesAppends = other.refusesAppends
        refusesHalves = other.refusesHalves
        refusesLoads = other.refusesLoads
        refusesReads = other.refusesReads
        authenticationDelay = other.authenticationDelay
        refusals = other.refusals
        credentialLifetime = other.credentialLifetime
        claims = other.claims
        answersRequests = other.answersRequests
        requests = other.requests
        notes = other.notes
        onNote = other.onNote
        onRolesSaved = other.onRolesSaved
        roles = other.roles
        memberships = other.memberships
        refusesMemberships = other.refusesMemberships
        createdCounts = other.createdCounts
        checked { try $0.reopen() }
    }

    /// Calls the `SimulatedStore`; nil without one.
    @discardableResult
    private func checked<Answer>(_ call: (any SimulatedStore) throws -> Answer) -> Answer? {
        guard let store else { return nil }
        do { return try call(store) } catch { preconditionFailure("the store fails: \(error)") }
    }

    /// Removes a room's messages before `offset` from the store.
    package func trim(_ room: RoomName, before offset: UInt64) {
        let kept = checked { try $0.trim(room, before: offset) }
        firstKept[room] = kept ?? max(first(room), offset)
    }

    /// The identity of a room's log.
    package func logID(_ room: RoomName) -> LogID {
        if let id = logIDs[room] { return id }
        let loaded = checked { try $0.load(room) }
        let id = loaded?.log ?? LogID(rawValue: logRandom.next())
        logIDs[room] = id
        return id
    }

    /// The first offset that the store keeps of a log, or kept when the log was lost; nil for an unknown log.
    package func firstOffset(of id: LogID, in room: RoomName) -> UInt64? {
        logIDs[room] == id ? first(room) : lostFirstOffsets[id]
    }

    /// Loses a room's log in the store, while the relay is down. The next log starts at offset 1.
    package func loseLog(of room: RoomName) {
        lostFirstOffsets[logID(room)] = first(room)
        checked { try $0.remove(room) }
        log[room] = nil
        logIDs[room] = nil
        devices[room] = nil
        progress[room] = nil
        lastOffsets[room] = nil
        firstKept[room] = nil
    }

    /// Processes the engine's outputs and returns those for the network, and the asynchronous operations with their
    /// delays.
    func drain(now: Instant) -> (network: [RelayOutput], work: [(Work, Duration)]) {
        var network: [RelayOutput] = []
        var work: [(Work, Duration)] = []
        while let output = loops.nextOutput(now: now) {
            switch output {
            case .link(.authenticate(let key, let request)):
                later(.authenticate(key, request), authenticationDelay, &work, now: now)
            case .link(.continueExchange(let key, let message)):
                later(.continueExchange(key, message), authenticationDelay, &work, now: now)
            case .call(let id, let call):
                switch call {
                case .authorize: later(.call(id, call), policyDelay, &work, now: now)
                case .attachment: later(.call(id, call), storeDelay, &work, now: now)
                case .administer: perform(.call(id, call), now: now)
                case .request(let room, let request):
                    requests.append((id, room, request))
                    if answersRequests { perform(.call(id, call), now: now) }
                }
            case .policyOverdue(let room): overdueRooms.append(room)
            case .store(let questions):
                for question in questions {
                    if case .saveProgress(let room, let marks) = question {
                        save(marks, of: room)
                    } else {
                        later(.store(question), storeDelay, &work, now: now)
                    }
                }
            case .commandEnded(let id, let result): commandResults[id] = result
            case .note(let note, _): report(note)
            case .link(.note(let note, _)): report(.link(note))
            case .undelivered(let reports): undelivered += reports
            case .link(.transmit), .link(.close), .link(.pauseReading), .link(.resumeReading): network.append(output)
            case .send(let loop, let messages): work.append((.send(loop, messages), VirtualRelay.loopDelay))
            case .link(.transfer): preconditionFailure("VirtualLoops performs transfers")
            }
        }
        return (network, work)
    }

    private func report(_ note: RelayNote) {
        notes.append(note)
        onNote?(note)
    }

    /// Completes an operation and reports its result to the engine.
    func perform(_ work: Work, now: Instant) {
        switch work {
        case .authenticate(let key, let request):
            guard request.mechanism != nil else { return loops.authenticated(key, answer(request), now: now) }
            exchanges[key] = (request, 0)
            proceed(key, request.credential, now: now)
        case .continueExchange(let key, let message): proceed(key, message, now: now)
        case .call(let id, let call): loops.completed(id, result(of: call), now: now)
        case .store(let question): loops.answered(answer(to: question), now: now)
        case .send(let loop, let messages): loops.receive(messages, at: loop, now: now)
        }
    }

    private func result(of call: RelayCall) -> RelayResult {
        switch call {
        case .authorize(let request): .decision(policy(request))
        case .request, .administer: .answer(RequestAnswer(status: .unknownMethod))
        case .attachment(let call): .attachment(attachments.perform(call))
        }
    }

    /// Calls the store.
    private func answer(to question: StoreQuestion) -> StoreAnswer {
        switch question {
        case .load(let room):
            var snapshot = RoomSnapshot(
                log: logID(room), lastOffset: lastOffsets[room] ?? 0, firstOffset: first(room),
                devices: devices[room] ?? [:], progress: progress[room] ?? [:], roles: roles[room])
            snapshot.memberships = memberships[room] ?? [:]
            checked { check(try $0.load(room), snapshot) }
            return .load(room, result(snapshot, isRefused: refusesLoads))
        case .append(let append):
            let (room, entries) = (append.room, append.entries)
            let taken = refusesAppends ? [] : refusesHalves ? Array(entries.prefix(entries.count / 2)) : entries
            store(taken, in: room, erasing: taken.count == entries.count ? append.erasures : [])
            let result = result(first(room), isRefused: taken.isEmpty)
            return .append(room, upTo: taken.last?.offset, messageCount: taken.count, result)
        case .read(let room, let id, let range):
            let history = RoomHistory(entries: entries(of: room, in: range), firstOffset: first(room))
            return .read(room, id, result(history, isRefused: refusesReads))
        case .saveProgress(let room, let marks):
            save(marks, of: room)
            return .saveProgress(room, .success(()))
        case .saveRoles(let room, let roles, _, let creation):
            return .saveRoles(
                room, refusesAppends ? .failure(.other(StoreRefusal())) : store(roles, of: room, creation))
        case .saveMemberships(let room, let changes):
            guard !refusesMemberships else { return .saveMemberships(room, .failure(.other(StoreRefusal()))) }
            return .saveMemberships(room, .success(store(changes, of: room)))
        case .readMemberships(let id, let read):
            return .readMemberships(id, result(entries(of: id.account, read), isRefused: refusesMemberships))
        case .saveRetention, .touch, .changes: preconditionFailure("nobody asks this in a simulation")
        }
    }

    private func result<Value>(_ value: Value, isRefused: Bool) -> Result<Value, RoomStoreError> {
        isRefused ? .failure(.other(StoreRefusal())) : .success(value)
    }

    /// The store and the memory have the same state.
    private func check(_ found: RoomSnapshot, _ expected: RoomSnapshot) {
        precondition(found.log == expected.log, "the store has another log")
        precondition(found.lastOffset == expected.lastOffset, "the store has another last offset")
        precondition(found.firstOffset == expected.firstOffset, "the store has another first offset")
        precondition(found.devices == expected.devices, "the store has other counters")
        precondition(found.progress == expected.progress, "the store has other progress")
        precondition(found.roles == expected.roles, "the store has other roles")
        precondition(found.memberships == expected.memberships, "the store has other membership records")
    }

    /// Makes messages durable.
    func store(_ entries: [LogEntry], in room: RoomName, erasing erasures: [MessageErasure] = []) {
        if !entries.isEmpty { checked { try $0.append(entries, erasing: erasures, to: room) } }
        if !erasures.isEmpty { log[room] = log[room]?.map { erasures.erased($0) ?? $0 } }
        for entry in entries {
            log[room, default: []].append(entry)
            lastOffsets[room] = entry.offset
            let device = DeviceKey(account: entry.sender, device: entry.device)
            devices[room, default: [:]][device, default: DeviceRecord()].insert(countersOf: [entry])
        }
    }

    /// Keeps the progress of accounts.
    private func save(_ marks: [AccountName: AccountProgress], of room: RoomName) {
        checked { try $0.saveProgress(marks, of: room) }
        progress[room, default: [:]].merge(marks) {
            AccountProgress(delivered: max($0.delivered, $1.delivered), read: max($0.read, $1.read))
        }
    }

    /// The stored progress of an account.
    private func savedProgress(of account: AccountName, in room: RoomName) -> AccountProgress {
        progress[room]?[account] ?? AccountProgress()
    }

    /// Whether the store has a log of a room.
    private func hasLog(_ room: RoomName) -> Bool { logIDs[room] != nil }

    /// Makes roles durable.
    @discardableResult
    func store(_ bytes: [UInt8], of room: RoomName, _ creation: RoomCreation?) -> Result<Void, RoomStoreError> {
        if let creation {
            guard roles[room] == nil else { return .failure(.roomHasRoles) }
            guard createdCounts[creation.account] ?? 0 < creation.maxRoomCount else {
                return .failure(.tooManyRooms)
            }
            createdCounts[creation.account, default: 0] += 1
        }
        checked { try $0.saveRoles(bytes, of: room, creation: creation) }
        roles[room] = bytes
        onRolesSaved?(room, bytes)
        return .success(())
    }

    /// The requested messages, at least one if there is one.
    private func entries(of room: RoomName, in range: ReadRange) -> [LogEntry] {
        if let entries = checked({ try $0.read(range, of: room) }) { return entries }
        var byteCount = 0
        let from = max(range.from, first(room))
        return (log[room] ?? []).drop { $0.offset < from }.prefix(range.maxCount).prefix { entry in
            defer { byteCount += entry.body.bytes.count }
            return byteCount == 0 || byteCount + entry.body.bytes.count <= range.maxByteCount
        }.map(\.self)
    }

    /// The first offset of a room that the store keeps or will assign.
    func first(_ room: RoomName) -> UInt64 { firstKept[room] ?? 1 }

    private func later(_ work: Work, _ delay: Duration, _ list: inout [(Work, Duration)], now: Instant) {
        if delay == .zero { perform(work, now: now) } else { list.append((work, delay)) }
    }

    private func proceed(_ key: ConnectionKey, _ message: Credential?, now: Instant) {
        guard let (request, number) = exchanges.removeValue(forKey: key) else { return }
        switch exchange(number, message) {
        case .challenge(let challenge):
            exchanges[key] = (request, number + 1)
            loops.authenticated(key, .challenge(challenge), now: now)
        case .accepted(let final): loops.authenticated(key, answer(request, final: final), now: now)
        case .refused: loops.authenticated(key, .refused(Notice(code: .unauthenticated)), now: now)
        }
    }

    private func answer(_ request: AuthenticationRequest, final: Credential? = nil) -> AuthenticationAnswer {
        if let notice = refusals[request.account] { return .refused(notice) }
        let token = ResumeToken(random.next(), random.next(), random.next(), random.next())
        return .accepted(
            Identity(request.account, claims: claims, expiresAt: expiry),
            TokenGrant(token: token, digest: digest(token)),
            presented: request.presentedToken.map(digest), final: final)
    }

    private var expiry: UInt64? {
        credentialLifetime.map { engine.wallClock + UInt64($0.nanoseconds / 1_000_000) }
    }

    /// A substitute for SHA-256, which the virtual world does not need.
    private func digest(_ token: ResumeToken) -> TokenDigest {
        var words: [UInt64] = [1, 2, 3, 4]
        for (index, byte) in token.bytes.enumerated() { words[index / 8] = words[index / 8] << 8 &+ UInt64(byte) }
        return TokenDigest(~words[0], ~words[1], ~words[2], ~words[3])
    }

    // MARK: - Membership records
    // The membership records of a virtual relay's store.

    /// Makes changes of records durable.
    @discardableResult
    func store(_ changes: MembershipChanges, of room: RoomName) -> Set<AccountName> {
        let refused = checked { try $0.saveMemberships(changes, of: room) } ?? []
        for (account, record) in changes where !refused.contains(account) {
            memberships[room, default: [:]][account] = record
        }
        if memberships[room]?.isEmpty == true { memberships[room] = nil }
        return refused
    }

    /// The entries of an account's rooms.
    package func entries(of account: AccountName, _ read: MembershipRead) -> [StoredRoomEntry] {
        let rooms: [RoomName]
        switch read {
        case .names: rooms = Array(memberships.keys)
        case .page(let after, _, _): rooms = memberships.keys.filter { room in after.map { $0 < room } ?? true }
        case .rooms(let wanted): rooms = Array(wanted.keys)
        }
        let found = rooms.sorted().compactMap { room in
            memberships[room]?[account].map { record in
                StoredRoomEntry(
                    entry(of: room, record, account, read), roles: read != .names && hasLog(room) ? roles[room] : nil)
            }
        }
        if let answer = checked({ try $0.memberships(of: account, read) }) {
            let count = if case .page(_, let count, _) = read { count } else { Int.max }
            precondition(read == .names || answer == Array(found.prefix(count)), "the store has other entries")
        }
        guard case .page(_, let count, _) = read else { return found }
        return Array(found.prefix(count))
    }

    private func entry(
        of room: RoomName, _ record: MembershipRecord, _ account: AccountName, _ read: MembershipRead
    ) -> RoomEntry {
        var entry = RoomEntry(room, record)
        guard hasLog(room) else { return entry }
        entry.log = logID(room)
        let messages = log[room] ?? []
        entry.lastOffset = messages.last?.offset ?? 0
        let progress = savedProgress(of: account, in: room)
            .raised(to: read.progress(in: room), lastOffset: entry.lastOffset)
        (entry.delivered, entry.read) = (progress.delivered, progress.read)
        entry.firstOffset = first(room)
        var scan = RoomEntryScan(of: account, entry)
        for message in messages.reversed() { guard scan.add(message) else { break } }
        scan.finish(&entry)
        return entry
    }
}

/// The error of a store that refuses calls.
private struct StoreRefusal: Error {}
