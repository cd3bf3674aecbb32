import MartletWire

extension AccountName {
    static let alice = named("alice")
    static let bob = named("bob")
    static let carol = named("carol")

    static func named(_ text: String) -> AccountName {
        guard let name = AccountName(text) else { preconditionFailure("not an account name: \(text)") }
        return name
    }
}

extension RoomName {
    static let lobby = named("lobby")
    static let hall = named("hall")

    static func named(_ text: String) -> RoomName {
        guard let name = RoomName(text) else { preconditionFailure("not a room name: \(text)") }
        return name
    }
}

extension MethodName {
    static let locate = named("locate")

    static func named(_ text: String) -> MethodName {
        guard let name = MethodName(text) else { preconditionFailure("not a method name: \(text)") }
        return name
    }
}
