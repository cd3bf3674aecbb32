import MartletLink
package import MartletRelay
package import MartletWire

/// The store of the relays of a world, which outlives their processes and can fail: one in memory, or a
/// `SimulatedStore`, whose answers are compared with it.
package final class VirtualStore {
    /// All durable messages of all rooms.
    package internal(set) var log: [RoomName: [LogEntry]] = [:]
    /// The store that answers in place of the one in memory.
    package internal(set) var file: (any SimulatedStore)?
    /// The attachments of all rooms.
    package internal(set) var attachments = VirtualAttachments()
    /// Whether the store refuses to append.
    package var refusesAppends = false
    /// Whether the store appends the first half of a batch and fails for the rest. A shared store appends all or none.
    package var refusesHalves = false
    /// Whether the store refuses to load rooms.
    package var refusesLoads = false
    /// Whether the store refuses to read messages.
    package var refusesReads = false
    /// The saved roles of rooms, in their stored form.
    package private(set) var roles: [RoomName: [UInt8]] = [:]
    /// The membership records of rooms.
    package var memberships: [RoomName: [AccountName: MembershipRecord]] = [:]
    /// Whether the store refuses to save or to read membership records.
    package var refusesMemberships = false
    /// The rooms that each account has created.
    package private(set) var createdCounts: [AccountName: Int] = [:]
    /// Called when roles are durable. It must not call the world.
    package var onRolesSaved: ((RoomName, [UInt8]) -> Void)?
    /// Called when messages of a shared store are durable. It must not call the world.
    var onAppended: ((RoomName) -> Void)?
    /// Whether several relays use the rooms.
    let isShared: Bool
    private var rolesVersions: [RoomName: UInt64] = [:]
    /// The first offset that the store kept of each lost log.
    private var lostFirstOffsets: [LogID: UInt64] = [:]
    private var logIDs: [RoomName: LogID] = [:]
    private var logRandom: SeededRandom
    private var devices: [RoomName: [DeviceKey: DeviceRecord]] = [:]
    private var progress: [RoomName: [AccountName: AccountProgress]] = [:]
    private var lastOffsets: [RoomName: UInt64] = [:]
    /// The first kept offset of each room.
    private var firstKept: [RoomName: UInt64] = [:]
    /// The random lengths of the answers to refused appends.
    private var random: SeededRandom

    init(isShared: Bool = false, seed: UInt64) {
        self.isShared = isShared
        logRandom = SeededRandom(seed: ~seed)
        random = SeededRandom(seed: seed ^ 0x73_74_6F_72_65)
    }

    /// Calls the `SimulatedStore`; nil without one.
    @discardableResult
    private func checked<Answer>(_ call: (any SimulatedStore) throws -> Answer) -> Answer? {
        guard let file else { return nil }
        do { return try call(file) } catch { preconditionFailure("the store fails: \(error)") }
    }

    /// Opens the store again after a crash of a relay's process.
    func reopen() {
        checked { try $0.reopen() }
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

    /// Loses a room's log. The next log starts at offset 1.
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

    /// Calls the store.
    func answer(to question: StoreQuestion) -> StoreAnswer {
        switch question {
        case .load(let room):
            var snapshot = RoomSnapshot(
                log: logID(room), lastOffset: lastOffsets[room] ?? 0, firstOffset: first(room),
                devices: devices[room] ?? [:], progress: progress[room] ?? [:], roles: roles[room])
            snapshot.rolesVersion = rolesVersions[room] ?? 0
            snapshot.memberships = memberships[room] ?? [:]
            checked { check(try $0.load(room), snapshot) }
            return .load(room, result(snapshot, isRefused: refusesLoads))
        case .append(let append): return answer(to: append)
        case .read(let room, let id, let range):
            guard range.log == nil || range.log == logID(room) else { return .read(room, id, .failure(.logLost)) }
            let history = RoomHistory(entries: entries(of: room, in: range), firstOffset: first(room))
            return .read(room, id, result(history, isRefused: refusesReads))
        case .saveProgress(let room, let marks):
            save(marks, of: room)
            return .saveProgress(room, .success(()))
        case .saveRoles(let room, let roles, let version, let creation):
            guard !refusesAppends else { return failure(of: question) }
            return .saveRoles(room, saveRoles(roles, of: room, replacing: version, creation))
        case .saveMemberships(let room, let changes):
            guard !refusesMemberships else { return failure(of: question) }
            return .saveMemberships(room, .success(saveMemberships(changes, of: room)))
        case .readMemberships(let id, let read):
            return .readMemberships(id, result(entries(of: id.account, read), isRefused: refusesMemberships))
        case .changes(let since): return .changes(.success(since.compactMap(change)))
        case .saveRetention, .touch: preconditionFailure("nobody asks this in a simulation")
        }
    }

    /// The answer of a store that fails, or that a relay does not reach.
    func failure(of question: StoreQuestion) -> StoreAnswer {
        let error = RoomStoreError.other(StoreRefusal())
        return switch question {
        case .load(let room): .load(room, .failure(error))
        case .append(let append): .append(append.room, upTo: nil, messageCount: 0, .failure(error))
        case .read(let room, let id, _): .read(room, id, .failure(error))
        case .saveProgress(let room, _): .saveProgress(room, .failure(error))
        case .saveRoles(let room, _, _, _): .saveRoles(room, .failure(error))
        case .saveMemberships(let room, _): .saveMemberships(room, .failure(error))
        case .readMemberships(let id, _): .readMemberships(id, .failure(error))
        case .touch(let rooms): .touch(rooms, .failure(error))
        case .saveRetention(let room, let bounds): .saveRetention(room, bounds, .failure(error))
        case .changes: .changes(.failure(error))
        }
    }

    private func answer(to append: RoomAppend) -> StoreAnswer {
        let (room, entries) = (append.room, append.entries)
        if isShared, let error = conflict(with: append) {
            return .append(room, upTo: nil, messageCount: 0, .failure(error))
        }
        let count = refusesAppends ? 0 : refusesHalves ? isShared ? 0 : entries.count / 2 : entries.count
        let taken = Array(entries.prefix(count))
        self.append(taken, to: room, erasing: taken.count == entries.count ? append.erasures : [])
        let result = result(first(room), isRefused: taken.isEmpty)
        return .append(room, upTo: taken.last?.offset, messageCount: taken.count, result)
    }

    // MARK: - Several relays

    /// The end of a room's log, and the version of its roles.
    func revision(of room: RoomName) -> RoomRevision {
        RoomRevision(
            room: room, log: logID(room), lastOffset: lastOffsets[room] ?? 0, rolesVersion: rolesVersions[room] ?? 0)
    }

    /// The revision of a room that has changed since the given one.
    private func change(since known: RoomRevision) -> RoomRevision? {
        let found = revision(of: known.room)
        let isChanged =
            found.log != known.log || found.lastOffset > known.lastOffset || found.rolesVersion != known.rolesVersion
        return isChanged ? found : nil
    }

    /// The reason to refuse an append to a shared store: another relay was first.
    private func conflict(with append: RoomAppend) -> RoomStoreError? {
        let found = revision(of: append.room)
        guard found.log == append.log else { return .logLost }
        precondition(
            append.expectedOffset <= found.lastOffset + 1, "a relay appends after messages that are not stored")
        guard append.expectedOffset == found.lastOffset + 1 else {
            let count = random.below(4) == 0 ? 1 : 256
            let range = ReadRange(from: append.expectedOffset, maxCount: count, maxByteCount: .max)
            return .conflict(
                RoomHistory(entries: self.entries(of: append.room, in: range), firstOffset: first(append.room)))
        }
        return append.rolesVersion == found.rolesVersion ? nil : .rolesChanged
    }

    // MARK: - Calls

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
    func append(_ entries: [LogEntry], to room: RoomName, erasing erasures: [MessageErasure] = []) {
        if !entries.isEmpty { checked { try $0.append(entries, erasing: erasures, to: room) } }
        if !erasures.isEmpty { log[room] = log[room]?.map { erasures.erased($0) ?? $0 } }
        for entry in entries {
            log[room, default: []].append(entry)
            lastOffsets[room] = entry.offset
            let device = DeviceKey(account: entry.sender, device: entry.device)
            devices[room, default: [:]][device, default: DeviceRecord()].insert(countersOf: [entry])
        }
        onAppended?(room)
    }

    /// Keeps the progress of accounts.
    func save(_ marks: [AccountName: AccountProgress], of room: RoomName) {
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
    func saveRoles(
        _ bytes: [UInt8], of room: RoomName, replacing version: UInt64 = 0, _ creation: RoomCreation?
    ) -> Result<Void, RoomStoreError> {
        if let creation {
            guard roles[room] == nil else { return .failure(.roomHasRoles) }
            guard createdCounts[creation.account] ?? 0 < creation.maxRoomCount else {
                return .failure(.tooManyRooms)
            }
        }
        guard !isShared || version == rolesVersions[room] ?? 0 else { return .failure(.rolesChanged) }
        if let creation { createdCounts[creation.account, default: 0] += 1 }
        checked { try $0.saveRoles(bytes, of: room, creation: creation) }
        roles[room] = bytes
        rolesVersions[room, default: 0] += 1
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

    // MARK: - Membership records

    /// Makes changes of records durable.
    @discardableResult
    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) -> Set<AccountName> {
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
