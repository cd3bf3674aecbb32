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
    public init(_ account: AccountName, role: RoomRole? = nil) {
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
