import MartletProtocol
public import MartletWire

/// The methods that a relay answers itself when a request names no recipient; both are about the request's room.
public enum RelayMethod: String, CaseIterable, Sendable {
    /// Who is in the room: the answer's content has the fields of `Opened`, with at most 256 members.
    case members
    /// How far the room is: the same without the members.
    case head

    /// The method's name as requests have it.
    public var name: MethodName { MethodName(rawValue)! }

    init?(_ name: MethodName) {
        self.init(rawValue: name.text)
    }

    func answer(_ correlation: UInt64, about room: Opened?) -> Response {
        guard let room else { return Response(correlation: correlation, status: .noRecipient) }
        let told =
            switch self {
            case .members: room
            case .head: Opened(head: room.head, first: room.first, log: room.log)
            }
        return Response(correlation: correlation, content: told.encode())
    }
}
