import MartletLink
import MartletWire

/// A rule: the permissions of some accounts in some rooms.
struct RoomRule: Hashable, Sendable {
    private enum Accounts: Hashable {
        case everyone
        case role(String)
        case account(AccountName)
        case claim(String, String)
    }

    let decision: RoomDecision
    private let rooms: RoomPattern
    private let accounts: Accounts

    /// Parses the words of a line.
    init(_ words: [String]) throws(RoomRulesError.Fault) {
        var words = words[...]
        let verb = words.removeFirst()
        switch verb {
        case "allow":
            guard let names = words.popFirst() else { throw .unknownPermission("") }
            decision = .granted(try Self.permissions(names))
        case "deny": decision = .refused
        default: throw .unknownVerb(verb)
        }
        guard words.popFirst() == "in", let pattern = words.popFirst().flatMap({ RoomPattern($0) }) else {
            throw .invalidPattern
        }
        rooms = pattern
        guard words.isEmpty || words.removeFirst() == "to" else { throw .invalidPattern }
        guard let accounts = Self.accounts(words) else { throw .invalidAccounts }
        self.accounts = accounts
    }

    private static func permissions(_ names: String) throws(RoomRulesError.Fault) -> RoomPermissions {
        var permissions: RoomPermissions = []
        for name in names.split(separator: ",", omittingEmptySubsequences: false) {
            switch name {
            case "publish": permissions.insert(.publish)
            case "history": permissions.insert(.readHistory)
            case "request": permissions.insert(.request)
            case "create": permissions.insert(.create)
            case "administer": permissions.insert(.administer)
            case "all" where names == "all": permissions = .all
            case "none" where names == "none": permissions = []
            default: throw .unknownPermission(String(name))
            }
        }
        return permissions
    }

    private static func accounts(_ words: ArraySlice<String>) -> Accounts? {
        if words.count == 1, words.first == "everyone" { return .everyone }
        guard words.count == 2, let kind = words.first, let value = words.last else { return nil }
        switch kind {
        case "role": return .role(value)
        case "account": return AccountName(value).map { .account($0) }
        case "claim":
            guard let equals = value.firstIndex(of: "="), equals > value.startIndex else { return nil }
            return .claim(String(value[..<equals]), String(value[value.index(after: equals)...]))
        default: return nil
        }
    }

    /// Whether the rule applies to this room and account.
    func matches(_ request: RoomAuthorizationRequest) -> Bool {
        let identity = request.identity
        // A permission in several rooms does not include the administration of the relay.
        if request.room == .administration, !rooms.isName, decision != .refused { return false }
        let isMatch =
            switch accounts {
            case .everyone: true
            case .role(let role): identity.claims.has(role: role)
            case .account(let account): identity.account == account
            case .claim(let name, let value): identity.claims.has(name, value)
            }
        return isMatch && rooms.matches(request.room, for: identity.account)
    }
}
