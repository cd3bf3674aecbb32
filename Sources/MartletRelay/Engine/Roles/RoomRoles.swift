import MartletLink
public import MartletWire

/// The roles, bans and mutes of a room, and which accounts may enter it.
///
/// | access | without a role | reader | member, moderator | owner | banned |
/// |---|---|---|---|---|---|
/// | open | as member | enters | enters, publishes | enters, publishes | refused |
/// | inviteOnly | refused | enters | enters, publishes | enters, publishes | refused |
/// | closed | refused | refused | refused | enters, publishes | refused |
///
/// A muted account publishes nothing until the end of the mute. An account to which the room policy grants `administer`
/// enters and publishes always, as an owner.
package struct RoomRoles: Sendable {
    /// The maximum number of accounts with a role.
    package static let maxRoleCount = 4096
    /// The maximum number of banned accounts.
    package static let maxBanCount = 4096
    /// The maximum number of muted accounts.
    package static let maxMuteCount = 4096
    /// The maximum number of bytes of the stored roles of all rooms that an account has created (R-73, Specs/hostile.md
    /// row 67).
    package static let maxByteCountPerCreator = 4 << 20
    /// Bytes of an account in memory beside its name.
    static let standingByteCount = SortedMap<AccountName, RoomStanding>.entryByteCount + 32

    /// Which accounts may enter.
    package private(set) var access: RoomAccess
    private var standings = SortedMap<AccountName, RoomStanding>()
    private var ownerCount = 0
    private var roleCount = 0
    private var banCount = 0
    private var muteCount = 0
    private var nameByteCount = 0

    /// An open room without an owner, as of a room that is older than its roles.
    package init() {
        access = .open
    }

    /// A room that an account has created.
    package init(owner: AccountName) {
        self.init()
        replace(nil, with: RoomStanding(owner, role: .owner))
    }

    /// Accounts about which the room keeps something.
    package var count: Int { standings.count }
    /// Bytes in memory.
    var byteCount: Int { standings.count * Self.standingByteCount + nameByteCount }

    /// What the room keeps about an account; nil if nothing.
    package subscript(account: AccountName) -> RoomStanding? { standings[account] }

    /// What the room keeps about accounts behind the named one, in the order of their names' bytes.
    package func standings(after account: AccountName?, maxCount: Int) -> [RoomStanding] {
        let first = account.map { standings.firstIndex(above: $0) } ?? 0
        return standings.indices[first...].prefix(maxCount).map { standings[at: $0] }
    }

    // MARK: Rights

    /// The role in which an account enters; nil if it may not.
    ///
    /// - Parameter permissions: what the room policy permits.
    package func role(of account: AccountName, _ permissions: RoomPermissions) -> RoomRole? {
        permissions.contains(.administer) ? .owner : role(of: standings[account])
    }

    private func role(of standing: RoomStanding?) -> RoomRole? {
        if standing?.isBanned == true { return nil }
        switch access {
        case .open: return standing?.role ?? .member
        case .inviteOnly: return standing?.role
        case .closed: return standing?.role == .owner ? .owner : nil
        }
    }

    /// Whether the role of an account in the room permits it to publish at a time, in milliseconds since 1970.
    package func mayPublish(_ account: AccountName, _ permissions: RoomPermissions, at now: UInt64) -> Bool {
        if permissions.contains(.administer) { return true }
        let standing = standings[account]
        guard let role = role(of: standing), role != .reader else { return false }
        return (standing?.mutedUntil ?? 0) <= now
    }

    /// The rank in which an account acts.
    func rank(of account: AccountName, _ permissions: RoomPermissions) -> RoomRank {
        permissions.contains(.administer) ? .administrator : RoomRank(role(of: account, permissions))
    }

    // MARK: Changes

    /// The roles after a permitted operation; nil if it changes nothing. Mutes that have ended are removed.
    ///
    /// - Parameters:
    ///   - rank: the rank of the account that acts.
    ///   - now: the relay's wall clock in milliseconds since 1970.
    /// - Throws: `banned`, `lastOwner`, `full`.
    func applying(
        _ operation: RoomOperation, by rank: RoomRank, at now: UInt64
    ) throws(RoomRefusal) -> RoomRoles? {
        var next = self
        switch operation {
        case .kick, .announce, .listRoles: return nil
        case .setAccess(let access):
            guard access != self.access else { return nil }
            next.access = access
        case .ban(let account), .unban(let account), .mute(let account, _), .unmute(let account),
            .invite(let account), .setRole(_, let account):
            let before = standings[account]
            let after = try Self.standing(before ?? RoomStanding(account), after: operation, at: now)
            guard after != before ?? RoomStanding(account) else { return nil }
            next.removeEndedMutes(at: now, except: account)
            next.replace(before, with: after)
        }
        guard next.ownerCount > 0 || ownerCount == 0 || rank == .administrator else { throw .lastOwner }
        try next.check(against: self)
        return next
    }

    private static func standing(
        _ before: RoomStanding, after operation: RoomOperation, at now: UInt64
    ) throws(RoomRefusal) -> RoomStanding {
        var standing = before
        switch operation {
        case .ban:
            standing.role = nil
            standing.isBanned = true
        case .unban: standing.isBanned = false
        case .mute(_, let seconds): standing.mutedUntil = now + UInt64(seconds) * 1000
        case .unmute: standing.mutedUntil = 0
        case .invite:
            guard !standing.isBanned else { throw .banned }
            standing.role = standing.role ?? .member
        case .setRole(let role, _):
            guard role == nil || !standing.isBanned else { throw .banned }
            standing.role = role
        case .kick, .setAccess, .announce, .listRoles: break
        }
        return standing
    }

    /// A bound refuses a change that exceeds it further.
    private func check(against before: RoomRoles) throws(RoomRefusal) {
        let counts = [
            (before.roleCount, roleCount, Self.maxRoleCount), (before.banCount, banCount, Self.maxBanCount),
            (before.muteCount, muteCount, Self.maxMuteCount),
        ]
        for (before, count, most) in counts where count > most && count > before { throw .full(most) }
    }

    private mutating func removeEndedMutes(at now: UInt64, except account: AccountName) {
        guard muteCount > 0 else { return }
        let ended = standings.values.filter { $0.mutedUntil > 0 && $0.mutedUntil <= now && $0.account != account }
        for standing in ended {
            var next = standing
            next.mutedUntil = 0
            replace(standing, with: next)
        }
    }

    private mutating func replace(_ before: RoomStanding?, with after: RoomStanding) {
        if let before { count(before, -1) }
        if !after.isEmpty { count(after, 1) }
        standings[after.account] = after.isEmpty ? nil : after
    }

    private mutating func count(_ standing: RoomStanding, _ change: Int) {
        if standing.role == .owner { ownerCount += change }
        if standing.role != nil { roleCount += change }
        if standing.isBanned { banCount += change }
        if standing.mutedUntil > 0 { muteCount += change }
        nameByteCount += change * standing.account.text.utf8.count
    }

    // MARK: Stored form

    /// The version of the stored form.
    static let version: UInt8 = 1
    /// Bytes of the stored form at the most.
    static let maxByteCount = 2 << 20

    /// The stored form: the version in one byte, then the TLVs `access` and, for each account, `standing`.
    package func encoded() -> [UInt8] {
        var writer = TLVWriter()
        writer.append(.access, uint8: access.rawValue)
        for index in standings.indices { standings[at: index].encode(into: &writer) }
        var bytes = [Self.version]
        bytes.append(bytes: writer.rawBytes)
        return bytes
    }

    /// Roles from their stored form.
    package init(decoding bytes: [UInt8]) throws(RoomRolesError) {
        self.init()
        guard bytes.count <= Self.maxByteCount else { throw .tooLong }
        guard bytes.first == Self.version else { throw .unknownVersion(bytes.first) }
        let fields = bytes.dropFirst()
        do throws(WireError) {
            try read(fields.rawBytes)
        } catch {
            throw .malformed(error)
        }
        guard max(roleCount, banCount, muteCount) <= Self.maxRoleCount else { throw .tooManyAccounts }
    }

    private mutating func read(_ fields: RawSpan) throws(WireError) {
        var reader = TLVReader(fields, budget: Self.maxRoleCount + Self.maxBanCount + Self.maxMuteCount + 16)
        var access: RoomAccess?
        var last: AccountName?
        while let field = try reader.next() {
            switch field.tag {
            case .access:
                guard access == nil else { throw .duplicateField(.access) }
                access = try field.access()
            case .standing:
                let standing = try RoomStanding(field)
                // Each account once, and none about which there is nothing to keep.
                guard last.map({ $0 < standing.account }) ?? true, !standing.isEmpty else {
                    throw .invalidValue(.standing)
                }
                last = standing.account
                replace(nil, with: standing)
            default: try field.skip()
            }
        }
        guard let access else { throw .missingField(.access) }
        self.access = access
    }
}

/// An error in the stored form of roles.
public enum RoomRolesError: Error, Equatable, Sendable {
    /// The form has another version than 1; nil if it is empty.
    case unknownVersion(UInt8?)
    /// A field is malformed, missing, repeated or not valid.
    case malformed(WireError)
    /// The form has more than 2 MiB.
    case tooLong
    /// More accounts have a role, are banned or are muted than a room may have.
    case tooManyAccounts
}
