/// The answer to `room.roles`: the roles, bans and mutes of a room, in parts.
public struct RoomRoster: Equatable, Sendable {
    /// The maximum number of accounts in a part of an answer to `room.roles`.
    public static let maxCount = 64

    /// The role of the account that asked.
    public let ownRole: RoomRole
    /// Which accounts may enter.
    public let access: RoomAccess
    /// What the room keeps about accounts, in the order of their names' bytes.
    public let standings: [RoomStanding]

    /// Whether there may be another part, after the last account of this one.
    public var isPartial: Bool { standings.count == Self.maxCount }

    /// Creates a part.
    ///
    /// - Precondition: There are at most ``maxCount`` accounts.
    package init(ownRole: RoomRole, access: RoomAccess, standings: [RoomStanding]) {
        precondition(standings.count <= Self.maxCount, "more accounts than a part may name")
        self.ownRole = ownRole
        self.access = access
        self.standings = standings
    }

    /// Creates a part from the content of a response.
    ///
    /// - Throws: `missingField`, `duplicateField`, `invalidValue`, `malformedTLV`, `tlvTooDeep`, `tooManyTLVs` or
    ///   `unknownCriticalTag`.
    package init(parsing content: [UInt8]) throws(WireError) {
        var ownRole: RoomRole?
        var access: RoomAccess?
        var standings: [RoomStanding] = []
        var reader = try TLVReader(wholeBody: content.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .role: try ownRole.fill(.role, field.role())
            case .access: try access.fill(.access, field.access())
            case .standing: try standings.append(RoomStanding(field), limit: Self.maxCount)
            default: try field.skip()
            }
        }
        self.ownRole = try ownRole.required(.role)
        self.access = try access.required(.access)
        self.standings = standings
    }

    /// The content of the response.
    package func encode() -> [UInt8] {
        var writer = TLVWriter()
        writer.append(.role, uint8: ownRole.rawValue)
        writer.append(.access, uint8: access.rawValue)
        for standing in standings { standing.encode(into: &writer) }
        return writer.bytes
    }
}

/// What a room keeps about an account: a role, a ban, a mute.
public struct RoomStanding: Hashable, Sendable {
    /// The account.
    public let account: AccountName
    /// The role; nil if the account has none.
    public var role: RoomRole?
    /// Whether the account may not enter the room. A banned account has no role.
    public var isBanned = false
    /// The end of a mute, in milliseconds since 1970 by the relay's clock; 0 if there is none.
    public var mutedUntil: UInt64 = 0

    /// The number of bytes before the name.
    private static let headByteCount = 10

    /// The standing of an account about which a room keeps nothing else.
    package init(_ account: AccountName, role: RoomRole? = nil) {
        self.account = account
        self.role = role
    }

    /// Whether the room keeps nothing about the account.
    package var isEmpty: Bool { role == nil && !isBanned && mutedUntil == 0 }

    /// Creates the standing from a field.
    ///
    /// - Throws: `invalidValue` if the value is too short, or the role, the ban or the name is not valid, or a banned
    ///   account has a role.
    package init(_ field: TLVView) throws(WireError) {
        let value = field.value
        guard value.byteCount > Self.headByteCount else { throw .invalidValue(field.tag) }
        let roleNumber = value.loadUInt8(at: 0)
        let role = RoomRole(rawValue: roleNumber)
        let ban = value.loadUInt8(at: 1)
        guard role != nil || roleNumber == 0, ban == 0 || ban == 1 && role == nil else {
            throw .invalidValue(field.tag)
        }
        let name = TLVView(tag: field.tag, value: value.extracting(droppingFirst: Self.headByteCount))
        account = try name.name()
        self.role = role
        isBanned = ban == 1
        mutedUntil = value.loadUInt64(at: 2)
    }

    /// Appends the field.
    package func encode(into writer: inout TLVWriter) {
        writer.appendHead(.standing, followedBy: Self.headByteCount + account.text.utf8.count)
        writer.appendRaw(role?.rawValue ?? 0)
        writer.appendRaw(isBanned ? 1 as UInt8 : 0)
        writer.appendRaw(mutedUntil)
        account.text.withUTF8Bytes { writer.append(encoded: $0) }
    }
}
