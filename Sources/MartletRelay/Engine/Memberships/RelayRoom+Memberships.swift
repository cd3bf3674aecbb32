import MartletLink
import MartletWire

/// The membership records of the room, and reports of its changes.
extension RelayRoom {
    /// Whether a request about a record waits, or is saved.
    @inline(__always)
    var isChangingMemberships: Bool { allocatedMemberships.isAllocated && memberships.isBusy }

    /// A request about a record, which is performed at the end of a turn when the room is loaded. With roles, an
    /// invitation takes its place among the room's operations when it arrives.
    mutating func receive(_ call: MembershipCall, into effects: inout Deque<RoomEffect>) {
        if usesRoles, case .ready = state, case .invite = call.operation {
            return decideByRoles(call, into: &effects)
        }
        guard !memberships.isFull else { return answer(call, .serverBusy, into: &effects) }
        memberships.append(call)
    }

    /// Takes the records of the store's snapshot. Records of banned accounts are removed: a crash may have separated
    /// the removal from the ban.
    mutating func beginMemberships(_ records: [AccountName: MembershipRecord]) {
        let waiting = allocatedMemberships.isAllocated ? memberships.failAll() : []
        guard !records.isEmpty || !waiting.isEmpty else { return releaseMemberships() }
        memberships = RoomMemberships(records)
        for call in waiting { memberships.append(call) }
        guard usesRoles, let roles = moderation.roles else { return }
        for account in memberships.accounts where roles[account]?.isBanned == true {
            memberships.noteRemoval(of: account)
        }
    }

    /// Performs the requests that wait, and saves their changes together.
    ///
    /// - Parameter now: the relay's wall clock in milliseconds since 1970.
    mutating func performMemberships(at now: UInt64, into effects: inout Deque<RoomEffect>) {
        guard allocatedMemberships.isAllocated, case .ready = state else { return }
        if usesRoles {
            for call in memberships.takeInvitations() { decideByRoles(call, into: &effects) }
        }
        var reads: [MembershipCall] = []
        let rights = MembershipRights(usesRoles: usesRoles, roles: usesRoles ? moderation.roles : nil)
        let (changes, answers) = memberships.beginSaving(at: now, rights)
        for answer in answers {
            if answer.status == .none, case .read = answer.call.operation {
                reads.append(answer.call)
            } else {
                self.answer(answer.call, answer.status, into: &effects)
            }
        }
        for call in reads { read(call, into: &effects) }
        if !changes.isEmpty { effects.append(.store(.saveMemberships(name, changes))) }
        // The removal of a record that was not saved needs no save.
        recordsRemoved(into: &effects)
        if memberships.isEmpty { releaseMemberships() }
    }

    /// The roles of a room had an effect on an invitation: it was refused, or its record can be saved.
    mutating func decided(
        _ call: MembershipCall, _ refusal: RoomRefusal?, into effects: inout Deque<RoomEffect>
    ) {
        if let refusal {
            let response = Response(correlation: call.number, status: refusal.status, reason: refusal.reason)
            return effects.append(.answered(call.caller, response))
        }
        guard case .invite(let account) = call.operation,
            memberships.noteInvitation(of: account, by: call.who.account, answering: call)
        else { return answer(call, .serverBusy, into: &effects) }
    }

    /// Raises the read offset of an account that has not opened the room.
    private mutating func read(_ call: MembershipCall, into effects: inout Deque<RoomEffect>) {
        guard case .read(let offset, let wanted) = call.operation else { return }
        // Offsets of another log mean other messages, except those up to its branch.
        if let wanted, let current = log.id, wanted != current, offset > log.branch(of: wanted) ?? 0 {
            return answer(call, .refused, into: &effects)
        }
        progressed(call.who, Receipt.Progress(.read, upTo: offset), from: nil, into: &effects)
        answer(call, .none, into: &effects)
    }

    /// The result of `saveMemberships`; nil when the store has failed. Returns the durable changes.
    mutating func membershipsSaved(
        refused: Set<AccountName>?, into effects: inout Deque<RoomEffect>
    ) -> MembershipChanges {
        let (changes, answers) = memberships.saved(refused: refused)
        for answer in answers { self.answer(answer.call, answer.status, into: &effects) }
        recordsRemoved(into: &effects)
        if memberships.isEmpty { releaseMemberships() }
        return changes
    }

    /// Whether accounts have records.
    var hasRecords: Bool { allocatedMemberships.isAllocated && memberships.count > 0 }

    /// Whether an account has a record.
    func hasRecord(_ account: AccountName) -> Bool {
        allocatedMemberships.isAllocated && memberships[account] != nil
    }

    /// Another relay has changed a record.
    mutating func membershipChanged(_ account: AccountName, _ record: MembershipRecord?) {
        guard case .ready = state, record != nil || allocatedMemberships.isAllocated else { return }
        memberships.note(account, record)
        if memberships.isEmpty { releaseMemberships() }
    }

    /// The room leaves memory before its requests are performed.
    mutating func failMemberships(into effects: inout Deque<RoomEffect>) {
        guard isChangingMemberships else { return }
        for call in memberships.failAll() { answer(call, .storeUnavailable, into: &effects) }
    }

    /// An operation on roles has taken effect: an account is invited, or loses its record.
    mutating func applyToMemberships(
        _ operation: RoomOperation, by actor: AccountName
    ) {
        switch operation {
        case .invite(let account): memberships.noteInvitation(of: account, by: actor)
        case .ban(let account), .kick(let account):
            if allocatedMemberships.isAllocated { memberships.noteRemoval(of: account) }
        case .unban, .mute, .unmute, .setRole, .setAccess, .announce, .listRoles: break
        }
    }

    private func answer(_ call: MembershipCall, _ status: ErrorCode, into effects: inout Deque<RoomEffect>) {
        effects.append(.answered(call.caller, Response(correlation: call.number, status: status)))
    }

    // MARK: Changes

    /// The room is watched from now on, or no longer.
    mutating func setWatched(_ isWatched: Bool) {
        guard isWatched != self.isWatched else { return }
        self.isWatched = isWatched
        if isWatched { changes.begin(at: log.lastOffset) } else { releaseChanges() }
    }

    /// The instant at which the room is reported to the accounts that watch it.
    var changesDeadline: Instant? { isWatched ? changes.deadline(log.lastOffset) : nil }
}
