public import MartletWire

extension AccountName: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) {
        guard let name = AccountName(text) else { preconditionFailure("not an account name: \(text)") }
        self = name
    }
}

extension RoomName: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) {
        guard let name = RoomName(text) else { preconditionFailure("not a room name: \(text)") }
        self = name
    }
}

extension MethodName: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) {
        guard let name = MethodName(text) else { preconditionFailure("not a method name: \(text)") }
        self = name
    }
}
