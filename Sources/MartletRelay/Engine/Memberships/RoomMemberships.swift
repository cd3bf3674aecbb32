import MartletLink
import MartletWire

/// The membership records of a room, and the requests that wait for the store.
///
/// | state of a record | owns | ends |
/// |---|---|---|
/// | none | nothing | join: joined; invitation: invited |
/// | invited | the inviter, a time | join: joined; decline, ban, kick: none |
/// | joined | a time | leave, ban, kick: none |
///
/// | state of a request | owns | ends |
/// |---|---|---|
/// | waiting | an entry in the queue | `beginSaving`, in its order: it changes a record, or is answered at once |
/// | saving | a change of one record | `saved` |
///
/// | state of an operation on roles | owns | ends |
/// |---|---|---|
/// | waiting | a change behind the earlier ones of its account | `beginSaving`, before the requests |
///
/// At most one save of a room is in progress. It has at most one change of each account, so that every change takes
/// effect in its order.
struct RoomMemberships: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<RoomMemberships>()
    /// Requests of a room that wait, beyond which others are refused.
    static let maxWaitingCount = 256
    /// Changes that are saved together.
    static let maxSaveCount = 64
    /// Changes by operations on roles that wait, beyond which invitations are not recorded.
    static let maxEffectCount = 4096
    /// Bytes of a record, and of a waiting request, with objects.
    private static let recordByteCount = 128
    private static let callByteCount = 384

    /// The result of a request.
    struct Answer: Equatable {
        let call: MembershipCall
        let status: ErrorCode
    }

    /// A change that an operation on roles causes.
    private enum RoleEffect {
        case removal
        /// The invitation of a member was answered before; that of an account's session is answered with the change.
        case invitation(by: AccountName, answering: MembershipCall?)

        var isRemoval: Bool { if case .removal = self { true } else { false } }
    }

    private var records: [AccountName: MembershipRecord] = [:]
    private var waiting = Deque<MembershipCall>()
    /// The changes of each account by operations on roles, in their order.
    private var effects: [AccountName: [RoleEffect]] = [:]
    private var effectCount = 0
    private var saving: (changes: MembershipChanges, calls: [MembershipCall])?

    init() {}

    init(_ records: [AccountName: MembershipRecord]) {
        self.records = records
    }

    /// Whether the store has changes.
    var isSaving: Bool { saving != nil }
    /// Whether a request waits, or is saved.
    var isBusy: Bool { saving != nil || !waiting.isEmpty || !effects.isEmpty }
    /// Whether nothing is kept.
    var isEmpty: Bool { records.isEmpty && !isBusy }
    var isFull: Bool { waiting.count >= Self.maxWaitingCount }
    var count: Int { records.count }
    var byteCount: Int {
        let saved = saving.map { $0.calls.count + $0.changes.count } ?? 0
        return records.count * Self.recordByteCount + (waiting.count + effectCount + saved) * Self.callByteCount
    }

    subscript(account: AccountName) -> MembershipRecord? { records[account] }

    /// Whether an account has a record, or gets one by a change that waits or is saved. A record counts until
    /// its removal is durable.
    func hasRecord(_ account: AccountName) -> Bool {
        records[account] != nil || isSavingRecord(of: account) || effects[account]?.last?.isRemoval == false
    }

    private func isSavingRecord(of account: AccountName) -> Bool {
        saving?.changes[account].map { $0 != nil } ?? false
    }

    /// Whether any account has joined.
    var hasJoined: Bool { records.values.contains(where: \.isJoined) }
    /// The accounts that have joined.
    var joined: [AccountName] { records.filter { $0.value.isJoined }.map(\.key) }
    /// The accounts with a record.
    var accounts: [AccountName] { Array(records.keys) }

    /// Another relay has changed a record.
    mutating func note(_ account: AccountName, _ record: MembershipRecord?) { records[account] = record }

    // MARK: Requests

    /// Adds a request, which is performed at the end of the turn.
    mutating func append(_ call: MembershipCall) { waiting.append(call) }

    /// Takes the invitations that have arrived before the room was loaded. Its roles decide about them.
    mutating func takeInvitations() -> [MembershipCall] {
        func isInvitation(_ call: MembershipCall) -> Bool {
            if case .invite = call.operation { true } else { false }
        }
        guard waiting.indices.contains(where: { isInvitation(waiting[$0]) }) else { return [] }
        let calls = waiting.indices.map { waiting[$0] }
        waiting = Deque(calls.filter { !isInvitation($0) })
        return calls.filter(isInvitation)
    }

    /// An account loses its record, because it is banned or removed.
    mutating func noteRemoval(of account: AccountName) {
        guard records[account] != nil || isSavingRecord(of: account) || effects[account] != nil else { return }
        if effects[account]?.last?.isRemoval != true { append(.removal, of: account) }
    }

    /// Whether the removal of an account's record is not concluded.
    func isRemoving(_ account: AccountName) -> Bool {
        if effects[account]?.contains(where: \.isRemoval) == true { return true }
        return saving?.changes[account].map { $0 == nil } ?? false
    }

    /// An account was invited by an operation on roles. Returns false if too many changes wait.
    ///
    /// - Parameter call: The request that is answered with the change; nil if the operation was answered before.
    @discardableResult
    mutating func noteInvitation(
        of account: AccountName, by inviter: AccountName, answering call: MembershipCall? = nil
    ) -> Bool {
        // A second invitation changes nothing.
        guard call != nil || effects[account]?.last?.isRemoval != false else { return true }
        guard effectCount < (call == nil ? Self.maxEffectCount : Self.maxWaitingCount) else { return false }
        append(.invitation(by: inviter, answering: call), of: account)
        return true
    }

    private mutating func append(_ effect: RoleEffect, of account: AccountName) {
        effects[account, default: []].append(effect)
        effectCount += 1
    }

    /// Takes the first change of an account by operations on roles.
    private mutating func takeEffect(of account: AccountName) -> RoleEffect? {
        guard let effect = effects[account]?.first else { return nil }
        effects[account]?.removeFirst()
        if effects[account]?.isEmpty == true { effects[account] = nil }
        effectCount -= 1
        return effect
    }

    /// Decides the waiting requests in their order, until nothing waits or the next one depends on what is saved.
    ///
    /// - Parameter rights: Decides whether a request may be performed.
    /// - Returns: The changes to save, and the requests that are answered at once.
    mutating func beginSaving(
        at now: UInt64, _ rights: MembershipRights
    ) -> (changes: MembershipChanges, answers: [Answer]) {
        guard saving == nil else { return ([:], []) }
        var changes: MembershipChanges = [:]
        var calls: [MembershipCall] = []
        var answers: [Answer] = []
        for account in effects.keys.sorted() where changes.count < Self.maxSaveCount {
            while changes[account] == nil, let effect = takeEffect(of: account) {
                switch effect {
                case .removal: if records[account] != nil { changes[account] = .some(nil) }
                case .invitation(let inviter, let call):
                    let isFull = records.count + changes.count >= MembershipBounds.maxCountPerRoom
                    if records[account] == nil, !isFull {
                        changes[account] = MembershipRecord(isJoined: false, inviter: inviter, changedAt: now)
                        if let call { calls.append(call) }
                    } else if let call {
                        let status: ErrorCode = records[account] == nil ? .tooManyMemberships : .none
                        answers.append(Answer(call: call, status: status))
                    }
                }
            }
        }
        while changes.count < Self.maxSaveCount, let call = waiting.first, changes[call.target] == nil {
            _ = waiting.popFirst()
            if let refusal = rights.refusal(of: call, isJoined: records[call.who.account]?.isJoined == true) {
                answers.append(Answer(call: call, status: refusal))
                continue
            }
            switch change(by: call, at: now) {
            case .unchanged: answers.append(Answer(call: call, status: .none))
            case .refused(let code): answers.append(Answer(call: call, status: code))
            case .changed(let record):
                let isFull = records.count + changes.count >= MembershipBounds.maxCountPerRoom
                guard records[call.target] != nil || record == nil || !isFull else {
                    answers.append(Answer(call: call, status: .tooManyMemberships))
                    continue
                }
                changes[call.target] = .some(record)
                calls.append(call)
            }
        }
        if !changes.isEmpty { saving = (changes, calls) }
        return (changes, answers)
    }

    private enum Decision {
        case unchanged
        case refused(ErrorCode)
        case changed(MembershipRecord?)
    }

    private func change(by call: MembershipCall, at now: UInt64) -> Decision {
        let record = records[call.target]
        switch call.operation {
        case .join where record?.isJoined == true: return .unchanged
        case .join: return .changed(MembershipRecord(isJoined: true, inviter: record?.inviter, changedAt: now))
        case .leave: return record?.isJoined == true ? .changed(nil) : .unchanged
        case .decline: return record?.isJoined == false ? .changed(nil) : .unchanged
        case .invite:
            guard record == nil else { return .unchanged }
            let inviter = call.who.account
            return .changed(MembershipRecord(isJoined: false, inviter: inviter, changedAt: now))
        case .read: return .unchanged
        }
    }

    /// The store has answered; nil if it has failed.
    ///
    /// - Parameter refused: The accounts with the maximum number of records, whose changes are not saved.
    /// - Returns: The changes that are durable, and the answers.
    mutating func saved(refused: Set<AccountName>?) -> (changes: MembershipChanges, answers: [Answer]) {
        guard let (changes, calls) = saving.take() else { return ([:], []) }
        guard let refused else { return ([:], calls.map { Answer(call: $0, status: .storeUnavailable) }) }
        let durable = changes.filter { !refused.contains($0.key) }
        for (account, record) in durable { records[account] = record }
        let answers = calls.map {
            Answer(call: $0, status: refused.contains($0.target) ? .tooManyMemberships : .none)
        }
        return (durable, answers)
    }

    /// The room ends: all requests fail.
    mutating func failAll() -> [MembershipCall] {
        var calls = saving?.calls ?? []
        for account in effects.keys.sorted() {
            while let effect = takeEffect(of: account) {
                if case .invitation(_, let call?) = effect { calls.append(call) }
            }
        }
        while let call = waiting.popFirst() { calls.append(call) }
        saving = nil
        return calls
    }

    /// Checks that no request waits.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("saving membership records", saving != nil, false)
        check.empty("requests about membership records that wait", count: waiting.count + effectCount)
    }
}

extension MembershipCall {
    /// The account whose record the request concerns.
    var target: AccountName {
        if case .invite(let account) = operation { account } else { who.account }
    }
}
