import MartletLink
public import MartletWire

/// The methods with which a relay responds to requests without a recipient. They describe the room of the request
///
public enum RelayMethod: String, CaseIterable, Sendable {
    /// The members of the room. The content has the fields of `Opened`, with at most 256 members.
    case members
    /// The offsets of the room. The content has the same fields without the members, and those of the retention.
    case head

    /// The name of the method.
    public var name: MethodName { MethodName(rawValue)! }

    init?(_ name: MethodName) {
        self.init(rawValue: name.text)
    }

    func answer(_ correlation: UInt64, about room: Opened?, _ retention: RoomRetention) -> Response {
        guard let room else { return Response(correlation: correlation, status: .noRecipient) }
        let content =
            switch self {
            case .members: room.encode()
            case .head: Opened(head: room.head, first: room.first, log: room.log).encode() + retention.fields
            }
        return Response(correlation: correlation, content: content)
    }
}
