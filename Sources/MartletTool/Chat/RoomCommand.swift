import MartletWire

/// A command for an operation on the room.
enum RoomCommand: String, CaseIterable {
    case kick, ban, unban, mute, unmute, invite, role, access, close, announce, roles

    /// The form of the command.
    var usage: String {
        switch self {
        case .kick, .ban, .unban, .unmute, .invite: "/\(rawValue) NAME"
        case .mute: "/mute NAME SECONDS"
        case .role: "/role NAME ROLE, where ROLE is none, reader, member, moderator or owner"
        case .access: "/access WHO, where WHO is open, inviteOnly or closed"
        case .close: "/close, which is /access closed"
        case .announce: "/announce TEXT"
        case .roles: "/roles"
        }
    }

    /// Returns the operation; nil if a word is missing or not valid. The names of accounts may contain blanks.
    func operation(_ words: [String]) -> RoomOperation? {
        let all = words.joined(separator: " ")
        let name = words.dropLast().joined(separator: " ")
        let last = words.last ?? ""
        switch self {
        case .kick: return AccountName(all).map { .kick($0) }
        case .ban: return AccountName(all).map { .ban($0) }
        case .unban: return AccountName(all).map { .unban($0) }
        case .unmute: return AccountName(all).map { .unmute($0) }
        case .invite: return AccountName(all).map { .invite($0) }
        case .mute:
            guard let account = AccountName(name), let seconds = UInt32(last), seconds > 0 else { return nil }
            return .mute(account, seconds: seconds)
        case .role:
            guard let account = AccountName(name) else { return nil }
            if last == "none" { return .setRole(nil, of: account) }
            return RoomRole.allCases.first { "\($0)" == last }.map { .setRole($0, of: account) }
        case .access: return RoomAccess.allCases.first { "\($0)" == all }.map { .setAccess($0) }
        case .close: return words.isEmpty ? .setAccess(.closed) : nil
        case .announce: return all.isEmpty ? nil : .announce(MessageContent(text: all))
        case .roles: return words.isEmpty ? .listRoles(after: nil) : nil
        }
    }
}

extension RoomRoster {
    /// The lines of a list.
    var lines: [String] { [head] + rows + (isPartial ? ["Further accounts are not shown."] : []) }

    /// The line of the room and the own role.
    var head: String { "Your role is \(ownRole); the room is \(access)." }

    /// The lines of the accounts.
    var rows: [String] {
        standings.map { standing in
            var words = [standing.role.map { "\($0)" }, standing.isBanned ? "banned" : nil].compactMap(\.self)
            if standing.mutedUntil > 0 { words.append("muted until \(RelayLog.date(standing.mutedUntil))") }
            return "\(standing.account): \(words.joined(separator: ", "))"
        }
    }
}
