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
    public init(ownRole: RoomRole, access: RoomAccess, standings: [RoomStanding]) {
        precondition(standings.count <= Self.maxCount, "more accounts than a part may name")
        self.ownRole = ownRole
        self.access = access
        self.standings = standings
    }

    /// Creates a part from the content of a response.
    ///
    /// - Throws: `missingField`, `duplicateField`, `invalidValue`, `malformedTLV`, `tlvTooDeep`, `tooManyTLVs` or
    ///   `unknownCriticalTag`.
    public init(parsing content: [UInt8]) throws(WireError) {
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
    public func encode() -> [UInt8] {
        var writer = TLVWriter()
        writer.append(.role, uint8: ownRole.rawValue)
        writer.append(.access, uint8: access.rawValue)
        for standing in standings { standing.encode(into: &writer) }
        return writer.bytes
    }
}
