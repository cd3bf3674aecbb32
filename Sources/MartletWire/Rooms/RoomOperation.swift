/// An operation on a room: the method and the content of a request without a recipient.
public enum RoomOperation: Equatable, Sendable {
    /// Remove an account's sessions.
    case kick(AccountName)
    /// Remove an account and refuse it.
    case ban(AccountName)
    /// End a ban.
    case unban(AccountName)
    /// Refuse an account's messages for a number of seconds, at least 1.
    case mute(AccountName, seconds: UInt32)
    /// End a mute.
    case unmute(AccountName)
    /// Give an account without a role that of a member.
    case invite(AccountName)
    /// Set an account's role, or remove it for nil.
    case setRole(RoomRole?, of: AccountName)
    /// Set which accounts may enter.
    case setAccess(RoomAccess)
    /// Publish a message in the name of the relay.
    case announce(MessageContent)
    /// List the accounts after the named one, or from the first one for nil.
    case listRoles(after: AccountName?)

    /// The method of the request.
    package var method: RoomMethod {
        switch self {
        case .kick: .kick
        case .ban: .ban
        case .unban: .unban
        case .mute: .mute
        case .unmute: .unmute
        case .invite: .invite
        case .setRole: .role
        case .setAccess: .access
        case .announce: .announce
        case .listRoles: .roles
        }
    }

    /// The account that the operation affects; nil if it affects no single account.
    package var target: AccountName? {
        switch self {
        case .kick(let account), .ban(let account), .unban(let account), .mute(let account, _), .unmute(let account),
            .invite(let account), .setRole(_, let account):
            account
        case .setAccess, .announce, .listRoles: nil
        }
    }

    /// Creates the operation of a request from its content.
    ///
    /// - Throws: `missingField`, `duplicateField` or `invalidValue` for a field; `malformedTLV`, `tlvTooDeep`,
    ///   `tooManyTLVs` or `unknownCriticalTag`; the errors of ``ContentRules/check(_:of:)`` for an announcement.
    package init(_ method: RoomMethod, content: [UInt8]?) throws(WireError) {
        let bytes = content ?? []
        let fields = try Fields(parsing: bytes.rawBytes)
        switch method {
        case .kick: self = .kick(try fields.account.required(.account))
        case .ban: self = .ban(try fields.account.required(.account))
        case .unban: self = .unban(try fields.account.required(.account))
        case .mute:
            let account = try fields.account.required(.account)
            self = .mute(account, seconds: try fields.duration.required(.duration))
        case .unmute: self = .unmute(try fields.account.required(.account))
        case .invite: self = .invite(try fields.account.required(.account))
        case .role: self = .setRole(fields.role, of: try fields.account.required(.account))
        case .access: self = .setAccess(try fields.access.required(.access))
        case .announce:
            let kind = try fields.kind.required(.kind)
            self = .announce(try MessageContent(kind: kind, bytes: try fields.content.required(.content)))
        case .roles: self = .listRoles(after: fields.account)
        }
    }

    /// The fields of all methods.
    private struct Fields {
        var account: AccountName?
        var role: RoomRole?
        var access: RoomAccess?
        var duration: UInt32?
        var kind: ContentKind?
        var content: [UInt8]?

        init(parsing body: RawSpan) throws(WireError) {
            var reader = try TLVReader(wholeBody: body)
            while let field = try reader.next() {
                switch field.tag {
                case .account: try account.fill(.account, field.name())
                case .role: try role.fill(.role, field.role())
                case .access: try access.fill(.access, field.access())
                case .duration: try duration.fill(.duration, field.seconds())
                case .kind: try kind.fill(.kind, ContentKind(rawValue: field.uint16()))
                case .content: try content.fill(.content, field.content())
                default: try field.skip()
                }
            }
        }
    }

    /// The content of the request; nil if the operation has no fields.
    package var content: [UInt8]? {
        var writer = TLVWriter()
        if let target { writer.append(.account, name: target) }
        switch self {
        case .kick, .ban, .unban, .unmute, .invite: break
        case .mute(_, let seconds): writer.append(.duration, uint32: seconds)
        case .setRole(let role, _): if let role { writer.append(.role, uint8: role.rawValue) }
        case .setAccess(let access): writer.append(.access, uint8: access.rawValue)
        case .announce(let message):
            writer.append(.kind, uint16: message.kind.rawValue)
            writer.append(.content, bytes: message.bytes)
        case .listRoles(let account): if let account { writer.append(.account, name: account) }
        }
        return writer.byteCount == 0 ? nil : writer.bytes
    }
}

extension TLVView {
    /// Returns the value of a field that contains a role.
    func role() throws(WireError) -> RoomRole {
        guard let role = RoomRole(rawValue: try uint8()) else { throw .invalidValue(tag) }
        return role
    }

    /// Returns the value of a field that contains the access to a room.
    package func access() throws(WireError) -> RoomAccess {
        guard let access = RoomAccess(rawValue: try uint8()) else { throw .invalidValue(tag) }
        return access
    }

    /// Returns the value of a field that contains a number of seconds, at least 1.
    fileprivate func seconds() throws(WireError) -> UInt32 {
        let seconds = try uint32()
        guard seconds >= 1 else { throw .invalidValue(tag) }
        return seconds
    }
}

/// The method of a request that asks a relay for an operation on the room of the session.
public enum RoomMethod: String, CaseIterable, Sendable {
    /// Remove an account's sessions.
    case kick = "room.kick"
    /// Remove an account and refuse it.
    case ban = "room.ban"
    /// End a ban.
    case unban = "room.unban"
    /// Refuse an account's messages until an end.
    case mute = "room.mute"
    /// End a mute.
    case unmute = "room.unmute"
    /// Give an account without a role that of a member.
    case invite = "room.invite"
    /// Set or remove a role.
    case role = "room.role"
    /// Set which accounts may enter.
    case access = "room.access"
    /// Publish a message in the name of the relay.
    case announce = "room.announce"
    /// List roles, bans and mutes.
    case roles = "room.roles"

    /// The common start of all names.
    package static let prefix = "room."

    /// The name of the method.
    package var name: MethodName { MethodName(rawValue)! }

    /// The method of a name; nil for any other name.
    package init?(_ name: MethodName) {
        self.init(rawValue: name.text)
    }
}
