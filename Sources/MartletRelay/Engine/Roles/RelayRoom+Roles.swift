import MartletLink
import MartletWire

/// The roles of the room and the operations on them.
///
/// The room decides about operations, and enforces them itself: it refuses the messages of accounts that may not
/// publish, and ends the sessions of those that may not enter. A link checks the decision of the room policy before.
extension RelayRoom {
    /// Whether the relay keeps roles of rooms.
    var usesRoles: Bool { allocatedModeration.isAllocated }

    /// Whether an operation waits, or is saved.
    @inline(__always)
    var isModerating: Bool { usesRoles && moderation.isBusy }

    /// The instant at which operations that wait are performed; nil if there are none, or while the store is busy.
    var operationsDeadline: Instant? {
        usesRoles && !publication.isStoring && !replica.isLoading ? moderation.deadline : nil
    }

    /// Whether nobody has created the room.
    var isUncreated: Bool { usesRoles && moderation.roles == nil }

    /// Bytes of the longest content of an announcement.
    static let maxAnnouncementByteCount = 16 * 1024

    // MARK: Creation

    /// Takes the roles of the store's snapshot. A room with messages and without roles is older than its roles: it is
    /// open, and has no owner.
    mutating func beginRoles(
        _ configuration: RoomRolesConfiguration, _ snapshot: RoomSnapshot
    ) throws(RoomRolesError) {
        var roles = snapshot.lastOffset > 0 ? RoomRoles() : nil
        if let bytes = snapshot.roles { roles = try RoomRoles(decoding: bytes) }
        moderation = RoomModeration(configuration, roles, version: snapshot.rolesVersion)
    }

    /// Returns the sessions that join now: all of them, unless the room has to be created first.
    mutating func admitted(_ joins: [JoinRequest], into effects: inout Deque<RoomEffect>) -> [JoinRequest] {
        guard isUncreated else { return joins }
        create(for: joins, into: &effects)
        return []
    }

    /// Creates the room for the first session that may, and refuses those before it. Further sessions wait.
    mutating func create(for joins: [JoinRequest], into effects: inout Deque<RoomEffect>) {
        let first = joins.firstIndex { $0.permissions.contains(.create) } ?? joins.endIndex
        for join in joins[..<first] { effects.append(.reset(join.member, .roomForbidden)) }
        guard first < joins.endIndex else { return state = .ready }
        state = .loading(Array(joins[first...]))
        let creator = joins[first]
        let roles = RoomRoles(owner: creator.who.account)
        moderation.save(roles, for: .creation(creator))
        let creation = RoomCreation(
            account: creator.who.account, maxRoomCount: moderation.configuration.maxRoomsPerAccount)
        effects.append(.store(.saveRoles(name, roles.encoded(), replacing: moderation.version, creation: creation)))
    }

    /// The result of `saveRoles`. Returns the sessions that join now.
    mutating func rolesSaved(
        _ result: RolesResult, isShared: Bool, into effects: inout Deque<RoomEffect>
    ) -> [JoinRequest] {
        if result == .changed {
            if moderation.saveRefused() { loadRoles(needsLater: true, into: &effects) }
            return []
        }
        switch moderation.saved(result == .saved) {
        case nil: break
        case .operations(let decided):
            for entry in decided {
                if result == .saved, entry.refusal == nil { enforce(entry.operation.operation, into: &effects) }
                conclude(entry.operation, result.refusal ?? entry.refusal, into: &effects)
            }
            // Until the answer, messages were admitted by the earlier roles, although the store had the others. The log
            // may have some of them before these roles, and messages of other relays that would be refused.
            if result == .saved, isShared, !moderation.isHolding, let roles = moderation.roles {
                holdRoles(roles, version: moderation.version, upTo: .max)
            }
            // Messages and operations alternate, so that operations do not delay messages without end (row 58).
            startStoring(into: &effects)
        case .creation(let creator):
            guard case .loading(let joins) = state else { break }
            switch result {
            case .saved:
                effects.append(.note(.roomCreated(creator.who, name, .none), of: creator.member))
                state = .ready
                return joins
            case .tooManyRooms, .full:
                effects.append(.note(.roomCreated(creator.who, name, .tooManyRooms), of: creator.member))
                let others = joins.filter { $0.member != creator.member }
                if others.count < joins.count { effects.append(.reset(creator.member, .tooManyRooms)) }
                create(for: others, into: &effects)
            case .changed, .failed:
                // The room is loaded again, because the store may have its roles.
                for join in joins { effects.append(.reset(join.member, .storeUnavailable)) }
                state = .ready
            }
        }
        return []
    }

    // MARK: Rights

    /// Whether an account may enter.
    func mayEnter(_ account: AccountName, _ permissions: RoomPermissions) -> Bool {
        guard usesRoles, let roles = moderation.roles else { return true }
        return roles.role(of: account, permissions) != nil
    }

    /// Whether a member's role permits it to publish at a time, in milliseconds since 1970.
    @inline(__always)
    func mayPublish(_ slot: Int, at now: UInt64) -> Bool {
        guard usesRoles, let roles = moderation.roles else { return true }
        return roles.mayPublish(members[slot].who.account, members[slot].permissions, at: now)
    }

    /// The room policy has decided anew about a member.
    mutating func setPermissions(
        _ permissions: RoomPermissions, _ handle: MemberHandle, into effects: inout Deque<RoomEffect>
    ) {
        if let slot = attachments.slot(handle) {
            attachments[slot].permissions = permissions
            return expelAttachments(.roomForbidden, into: &effects)
        }
        guard let slot = members.slot(handle) else { return }
        members[slot].permissions = permissions
        if usesRoles { moderation.setPermissions(permissions, of: members[slot].who) }
        if members.isPresent(slot) { expelUnentitled([slot], into: &effects) }
    }

    // MARK: Operations

    /// A request for an operation. A list is answered at once, and everything else in its order.
    mutating func operate(
        _ number: UInt64, _ request: Request, _ method: RoomMethod, of slot: Int, into effects: inout Deque<RoomEffect>
    ) {
        let operation: RoomOperation
        do throws(WireError) {
            operation = try RoomOperation(method, content: request.content)
        } catch {
            return respond(nil, Response(correlation: number, status: error.operationStatus), into: &effects)
        }
        if case .listRoles(let account) = operation {
            return respond(nil, list(after: account, number, of: slot), into: &effects)
        }
        let pending = RoomModeration.Pending(
            number: number, member: members[slot].key, actor: members[slot].who,
            permissions: members[slot].permissions, operation: operation)
        // What is not permitted now takes no place in the queue (Specs/hostile.md row 58).
        guard let roles = moderation.roles, rank(of: pending, in: roles) != nil else {
            return conclude(pending, .forbidden, into: &effects)
        }
        if let refusal = moderation.append(pending) { return conclude(pending, refusal, into: &effects) }
        effects.append(.charge(pending.member, units: moderation.operationUnits))
    }

    /// An invitation that an account has requested on its own session.
    mutating func decideByRoles(_ call: MembershipCall, into effects: inout Deque<RoomEffect>) {
        guard case .invite(let account) = call.operation else { return }
        let pending = RoomModeration.Pending(
            number: 0, member: call.caller, actor: call.who, permissions: call.permissions,
            operation: .invite(account), call: call)
        guard let roles = moderation.roles, rank(of: pending, in: roles) != nil else {
            return conclude(pending, .forbidden, into: &effects)
        }
        if let refusal = moderation.append(pending) { return conclude(pending, refusal, into: &effects) }
        effects.append(.charge(pending.member, units: moderation.operationUnits))
    }

    /// A command of the relay's application, which has the rank of an administrator.
    mutating func decideByRoles(_ call: RoomCommandCall, into effects: inout Deque<RoomEffect>) {
        guard let operation = call.operation else { return }
        let pending = RoomModeration.Pending(
            number: 0, member: relayHandle.key, actor: call.actor, permissions: .administer,
            operation: operation, command: call)
        if let refusal = moderation.append(pending) { conclude(pending, refusal, into: &effects) }
    }

    /// The rank in which an account performs an operation; nil if it may not.
    private func rank(of pending: RoomModeration.Pending, in roles: RoomRoles) -> RoomRank? {
        guard pending.command == nil else { return .administrator }
        let rank = roles.rank(of: pending.actor.account, pending.permissions)
        return rank.permits(pending.operation, on: self.rank(of: pending.operation.target, in: roles)) ? rank : nil
    }

    private func list(after account: AccountName?, _ number: UInt64, of slot: Int) -> Response {
        guard let roles = moderation.roles,
            let role = roles.role(of: members[slot].who.account, members[slot].permissions)
        else { return Response(correlation: number, status: .forbidden) }
        let roster = RoomRoster(
            ownRole: role, access: roles.access,
            standings: roles.standings(after: account, maxCount: RoomRoster.maxCount))
        return Response(correlation: number, content: roster.encode())
    }

    /// Performs the waiting operations in their order. The changes of those that follow each other are saved together
    ///
    ///
    /// - Parameters:
    ///   - isShared: whether other relays change the roles, too. The store then takes an operation without effect as
    ///     well, since the roles in memory may not be the latest.
    ///   - wallClock: the relay's wall clock in milliseconds since 1970.
    ///   - batch: an empty batch.
    mutating func performOperations(
        isShared: Bool, at wallClock: UInt64, now: Instant, batch: inout RoomBatch,
        into effects: inout Deque<RoomEffect>
    ) {
        guard !publication.isStoring, !replica.isLoading, let roles = moderation.roles else { return }
        var change = RoomModeration.Change(roles: roles)
        while let pending = moderation.next(after: change, now: now) {
            do throws(RoomRefusal) {
                try perform(pending, &change, isShared: isShared, at: wallClock, batch: &batch, into: &effects)
            } catch {
                conclude(pending, error, after: &change, into: &effects)
            }
        }
        guard !change.operations.isEmpty else { return }
        let bytes = change.roles.encoded()
        moderation.save(change.roles, for: .operations(change.operations), byteCount: bytes.count, now: now)
        effects.append(.store(.saveRoles(name, bytes, replacing: moderation.version, creation: nil)))
    }

    private mutating func perform(
        _ pending: RoomModeration.Pending, _ change: inout RoomModeration.Change, isShared: Bool, at now: UInt64,
        batch: inout RoomBatch, into effects: inout Deque<RoomEffect>
    ) throws(RoomRefusal) {
        guard let rank = rank(of: pending, in: change.roles) else { throw .forbidden }
        switch pending.operation {
        case .kick(let account) where pending.command != nil:
            let removal = RoomOperation.setRole(nil, of: account)
            let next = try change.roles.applying(removal, by: rank, at: now)
            guard next != nil || isShared else { return conclude(pending, nil, after: &change, into: &effects) }
            if let next { change.roles = next }
            change.operations.append(RoomModeration.Decided(operation: pending, refusal: nil))
        case .kick(let account):
            let slots = members.slots(of: account)
            // A record without a session is removed too, also one that is not saved yet.
            guard !slots.isEmpty || memberships.hasRecord(account) else { throw .noMember }
            for slot in slots { expel(slot, .kicked, into: &effects) }
            expelAttachments(of: account, .kicked, into: &effects)
            conclude(pending, nil, into: &effects)
        case .announce(let content): try announce(content, pending, at: now, batch: &batch)
        case .listRoles, .ban, .unban, .mute, .unmute, .invite, .setRole, .setAccess:
            guard !concernsRelay(pending.operation) else { throw .reserved }
            let next = try change.roles.applying(pending.operation, by: rank, at: now)
            guard next != nil || isShared else { return conclude(pending, nil, after: &change, into: &effects) }
            if let next { change.roles = next }
            change.operations.append(RoomModeration.Decided(operation: pending, refusal: nil))
        }
    }

    /// Answers an operation that changes nothing: at once, or with the change by which it was decided.
    private mutating func conclude(
        _ pending: RoomModeration.Pending, _ refusal: RoomRefusal?, after change: inout RoomModeration.Change,
        into effects: inout Deque<RoomEffect>
    ) {
        guard !change.operations.isEmpty else { return conclude(pending, refusal, into: &effects) }
        change.operations.append(RoomModeration.Decided(operation: pending, refusal: refusal))
    }

    /// Whether an operation would give the relay's own account a role, a ban or a mute. As an owner it would let the
    /// last real owner resign, since it never enters (R-56, Specs/hostile.md row 59).
    private func concernsRelay(_ operation: RoomOperation) -> Bool {
        guard operation.target == moderation.configuration.serverAccount else { return false }
        switch operation {
        case .ban, .mute, .invite, .setRole(.some, _): return true
        case .kick, .unban, .unmute, .setRole(nil, _), .setAccess, .announce, .listRoles: return false
        }
    }

    /// The rank of an account that an operation affects: what the room keeps, or that of an administrator who is here.
    private func rank(of target: AccountName?, in roles: RoomRoles) -> RoomRank {
        guard let target else { return .outsider }
        let administers = members.slots(of: target).contains { members[$0].permissions.contains(.administer) }
        return administers ? .administrator : RoomRank(roles[target]?.role)
    }

    /// Answers the request and notes the operation.
    private mutating func conclude(
        _ pending: RoomModeration.Pending, _ refusal: RoomRefusal?, into effects: inout Deque<RoomEffect>
    ) {
        if let command = pending.command { return concluded(command, refusal, into: &effects) }
        let status = refusal?.status ?? .none
        let record = RoomOperationRecord(pending.operation, by: pending.actor, in: name, status)
        // The link's loop knows the address of the peer.
        effects.append(.note(.roomOperation(record), of: pending.member))
        if let call = pending.call { return decided(call, refusal, into: &effects) }
        if refusal == nil { applyToMemberships(pending.operation, by: pending.actor.account) }
        let response = Response(correlation: pending.number, status: status, reason: refusal?.reason)
        respond(nil, response, into: &effects)
    }

    // MARK: Effects on members

    /// Ends the sessions that may not enter any more.
    private mutating func enforce(_ operation: RoomOperation, into effects: inout Deque<RoomEffect>) {
        switch operation {
        case .ban(let account), .setRole(_, let account):
            expelUnentitled(members.slots(of: account), into: &effects)
        case .setAccess: expelUnentitled(members.slots.filter { members.isPresent($0) }, into: &effects)
        case .kick, .unban, .mute, .unmute, .invite, .announce, .listRoles: return
        }
        expelAttachments(.roomForbidden, into: &effects)
    }

    mutating func expelUnentitled(_ slots: [Int], into effects: inout Deque<RoomEffect>) {
        for slot in slots where !mayEnter(members[slot].who.account, members[slot].permissions) {
            expel(slot, .roomForbidden, into: &effects)
        }
    }

    /// Ends the session of a member.
    mutating func expel(_ slot: Int, _ code: ErrorCode, into effects: inout Deque<RoomEffect>) {
        effects.append(.reset(members[slot].key, code))
        leave(handle(slot), into: &effects)
    }

    // MARK: Announcements

    /// Publishes a message in the name of the relay. The request is answered when the message is durable.
    private mutating func announce(
        _ content: MessageContent, _ pending: RoomModeration.Pending, at now: UInt64, batch: inout RoomBatch
    ) throws(RoomRefusal) {
        let device = DeviceKey(
            account: moderation.configuration.serverAccount, device: RoomRolesConfiguration.serverDevice)
        moderation.announce(pending, at: try publish(content, by: device, at: now, batch: &batch))
    }

    /// Publishes a message of the relay's own device, and returns its offset.
    ///
    /// - Parameters:
    ///   - now: the relay's wall clock in milliseconds since 1970.
    ///   - batch: an empty batch.
    mutating func publish(
        _ content: MessageContent, by device: DeviceKey, at now: UInt64, batch: inout RoomBatch
    ) throws(RoomRefusal) -> UInt64 {
        guard content.byteCount <= Self.maxAnnouncementByteCount else { throw .tooLarge }
        guard !publication.isFull, let window = windows[device] ?? addWindow(device, at: now) else { throw .busy }
        windows.use(window, at: now)
        let watermark = windows[window].lastAppended
        let change = try? MessageBody(content)
        // A client can have published with the last counter, where the account of the relay is not reserved.
        guard watermark < .max, mayErase(by: change, of: nil) else { throw .busy }
        let message = Message(counter: watermark + 1, content: content)
        let body = message.encode()
        let offset = publication.lastOffset(durable: log.lastOffset) + 1
        if let change { note(change, of: nil, at: offset) }
        batch.begin(
            publisher: relayHandle, window: window, sender: device, watermark: watermark, acceptedAt: now,
            firstOffset: offset)
        publication.addPending(
            byteCount: batch.append(
                ClientMessage(counter: message.counter, body: body.rawBytes, layout: message.layout)))
        take(&batch)
        return offset
    }

    /// Answers the requests for announcements that are durable now.
    mutating func announcementsStored(into effects: inout Deque<RoomEffect>) {
        guard usesRoles else { return }
        for pending in moderation.takeAnnounced(upTo: log.lastOffset) { conclude(pending, nil, into: &effects) }
    }

    /// Answers the requests for announcements that the store did not take.
    mutating func announcementsDiscarded(into effects: inout Deque<RoomEffect>) {
        guard usesRoles else { return }
        for pending in moderation.takeAnnounced(upTo: .max) { conclude(pending, .storeUnavailable, into: &effects) }
    }
}

extension RolesResult {
    /// Why operations are not performed; nil if their changes are saved.
    fileprivate var refusal: RoomRefusal? {
        switch self {
        case .saved: nil
        case .full: .rolesFull
        case .tooManyRooms, .changed, .failed: .storeUnavailable
        }
    }
}

extension WireError {
    /// The status of a request to the relay whose content is not valid. A response has no code of the structure, and
    /// none of an unknown critical tag (W-29, R-56).
    var operationStatus: ErrorCode {
        switch self {
        case .missingField, .duplicateField: code
        default: .invalidValue
        }
    }
}
