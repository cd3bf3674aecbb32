package import MartletWire

extension AccountName {
    package static let alice = named("alice")
    package static let bob = named("bob")
    package static let carol = named("carol")

    package static func named(_ text: String) -> AccountName {
        guard let name = AccountName(text) else { preconditionFailure("not an account name: \(text)") }
        return name
    }
}

extension RoomName {
    package static let lobby = named("lobby")
    package static let hall = named("hall")

    package static func named(_ text: String) -> RoomName {
        guard let name = RoomName(text) else { preconditionFailure("not a room name: \(text)") }
        return name
    }
}

extension MethodName {
    package static let locate = named("locate")

    package static func named(_ text: String) -> MethodName {
        guard let name = MethodName(text) else { preconditionFailure("not a method name: \(text)") }
        return name
    }
}

extension SessionID {
    package static let first = SessionID(rawValue: 1)
    package static let second = SessionID(rawValue: 3)
}
