import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// The roles of all rooms over time, as the relay's store has them, and the operations that were requested.
///
/// Times are milliseconds of the relay's wall clock, as in the log.
struct RoleLedger {
    private struct AccountInRoom: Hashable {
        var account: AccountName
        var room: RoomName
    }

    private struct State {
        var since: UInt64
        var roles: RoomRoles
    }

    private struct Sent {
        var operation: RoomOperation
        var room: RoomName
        var at: UInt64
    }

    /// The account that administers all rooms.
    private let administrator: AccountName
    private var states: [RoomName: [State]] = [:]
    private var kicked: Set<AccountInRoom> = []
    private var sent: [RequestLedger.Key: Sent] = [:]

    init(administrator: AccountName) {
        self.administrator = administrator
    }

    private func permissions(of account: AccountName) -> RoomPermissions {
        account == administrator ? [.administer] : []
    }

    // MARK: - States

    /// Records roles that are durable; false if they cannot be decoded.
    mutating func saved(_ bytes: [UInt8], of room: RoomName, at now: UInt64) -> Bool {
        guard let roles = try? RoomRoles(decoding: bytes), roles.encoded() == bytes else { return false }
        states[room, default: []].append(State(since: now, roles: roles))
        return true
    }

    mutating func kicked(_ account: AccountName, from room: RoomName) {
        kicked.insert(AccountInRoom(account: account, room: room))
    }

    /// The last saved roles of a room.
    func roles(of room: RoomName) -> RoomRoles? { states[room]?.last?.roles }

    /// Whether an account may have published at a time between two others. A change in the same millisecond may precede
    /// or follow the message.
    func mayHavePublished(_ account: AccountName, in room: RoomName, from start: UInt64, to end: UInt64) -> Bool {
        guard let states = states[room], let first = states.lastIndex(where: { $0.since < start }) else { return true }
        return states[first...].prefix { $0.since <= end }
            .contains { $0.roles.mayPublish(account, permissions(of: account), at: end) }
    }

    /// Whether an account could not publish at some time after `start`.
    func wasSilenced(_ account: AccountName, in room: RoomName, since start: UInt64) -> Bool {
        let states = states[room] ?? []
        return states.indices.contains { index in
            guard index + 1 == states.count || states[index + 1].since >= start else { return false }
            let time = max(states[index].since, start)
            return !states[index].roles.mayPublish(account, permissions(of: account), at: time)
        }
    }

    /// Whether the relay has had a reason to end an account's session with a code.
    func mayExpel(_ account: AccountName, from room: RoomName, _ code: ErrorCode?) -> Bool {
        switch code {
        case .kicked: kicked.contains(AccountInRoom(account: account, room: room))
        case .roomForbidden:
            (states[room] ?? []).contains { $0.roles.role(of: account, permissions(of: account)) == nil }
        default: false
        }
    }

    // MARK: - Operations

    /// The operations without an outcome.
    var openCount: Int { sent.count }

    mutating func sent(_ key: RequestLedger.Key, _ operation: RoomOperation, in room: RoomName, at now: UInt64) {
        sent[key] = Sent(operation: operation, room: room, at: now)
    }

    /// Removes the operations of a crashed device.
    mutating func removeDevice(_ device: UInt64) {
        sent = sent.filter { $0.key.device != device }
    }

    /// An operation has an outcome. Returns nil for another request, otherwise whether the operation was performed, and
    /// the fault if it was answered and had no effect.
    mutating func ended(_ key: RequestLedger.Key, _ outcome: RequestOutcome) -> (isDone: Bool, fault: String?)? {
        guard let sent = sent.removeValue(forKey: key) else { return nil }
        guard case .answered(.none, _, _, _) = outcome else { return (false, nil) }
        return (true, hasEffect(sent) ? nil : "\(sent.operation) in \(sent.room) was answered and is not saved")
    }

    private func hasEffect(_ sent: Sent) -> Bool {
        if case .kick(let account) = sent.operation {
            return kicked.contains(AccountInRoom(account: account, room: sent.room))
        }
        let states = states[sent.room] ?? []
        return states.indices.contains { index in
            guard index + 1 == states.count || states[index + 1].since >= sent.at else { return false }
            let roles = states[index].roles
            switch sent.operation {
            case .ban(let account): return roles[account]?.isBanned == true
            case .unban(let account): return roles[account]?.isBanned != true
            case .mute(let account, _): return roles[account]?.mutedUntil ?? 0 > 0
            case .unmute(let account): return roles[account]?.mutedUntil ?? 0 == 0
            case .invite(let account): return roles[account]?.role != nil
            case .setRole(let role, let account): return roles[account]?.role == role
            case .setAccess(let access): return roles.access == access
            case .kick, .announce, .listRoles: return true
            }
        }
    }
}
