// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension FrameType {
    /// A message, or one fragment of it.
    @inlinable
    public static var data: FrameType { FrameType(rawValue: 0x1000) }
    /// Typing, presence and whatever else may be lost.
    @inlinable
    public static var transient: FrameType { FrameType(rawValue: 0x1001) }
    /// Acknowledges the reliable frames of any number of sessions and renews credit.
    @inlinable
    public static var ack: FrameType { FrameType(rawValue: 0x2001) }
    /// Says that messages were delivered, read or refused.
    @inlinable
    public static var receipt: FrameType { FrameType(rawValue: 0x2002) }
    /// The relay has messages durably, at these offsets.
    @inlinable
    public static var accepted: FrameType { FrameType(rawValue: 0x2003) }
    /// Offsets that are no longer available.
    @inlinable
    public static var gap: FrameType { FrameType(rawValue: 0x2004) }
    /// Asks for a pong.
    @inlinable
    public static var ping: FrameType { FrameType(rawValue: 0x3001) }
    /// Answers a ping.
    @inlinable
    public static var pong: FrameType { FrameType(rawValue: 0x3002) }
    /// A client's first frame on a connection.
    @inlinable
    public static var hello: FrameType { FrameType(rawValue: 0x4001) }
    /// The server's consent.
    @inlinable
    public static var welcome: FrameType { FrameType(rawValue: 0x4002) }
    /// The server's refusal.
    @inlinable
    public static var reject: FrameType { FrameType(rawValue: 0x4003) }
    /// Ends the connection and says why.
    @inlinable
    public static var goaway: FrameType { FrameType(rawValue: 0x4004) }
    /// Opens a session on a room.
    @inlinable
    public static var open: FrameType { FrameType(rawValue: 0x5001) }
    /// The session is open.
    @inlinable
    public static var opened: FrameType { FrameType(rawValue: 0x5002) }
    /// Ends a session in order.
    @inlinable
    public static var close: FrameType { FrameType(rawValue: 0x5003) }
    /// Ends a session because of an error.
    @inlinable
    public static var reset: FrameType { FrameType(rawValue: 0x5004) }
    /// Stops the delivery on a session for a while.
    @inlinable
    public static var suspend: FrameType { FrameType(rawValue: 0x5005) }
    /// Takes the delivery up again.
    @inlinable
    public static var resume: FrameType { FrameType(rawValue: 0x5006) }
    /// Asks for an answer by a deadline.
    @inlinable
    public static var request: FrameType { FrameType(rawValue: 0x6001) }
    /// Answers a request.
    @inlinable
    public static var response: FrameType { FrameType(rawValue: 0x6002) }
    /// Withdraws a request.
    @inlinable
    public static var cancel: FrameType { FrameType(rawValue: 0x6003) }
}

extension FrameType {
    /// Every type of version 1.0, in the order of the numbers.
    public static let registered: [FrameType] = [
        .data, .transient, .ack, .receipt, .accepted, .gap, .ping, .pong, .hello, .welcome, .reject, .goaway, .open,
        .opened, .close, .reset, .suspend, .resume, .request, .response, .cancel,
    ]
}

extension FrameType: CustomStringConvertible {
    /// The name in the specification, or the number in hexadecimal.
    public var description: String {
        switch self {
        case .data: "data"
        case .transient: "transient"
        case .ack: "ack"
        case .receipt: "receipt"
        case .accepted: "accepted"
        case .gap: "gap"
        case .ping: "ping"
        case .pong: "pong"
        case .hello: "hello"
        case .welcome: "welcome"
        case .reject: "reject"
        case .goaway: "goaway"
        case .open: "open"
        case .opened: "opened"
        case .close: "close"
        case .reset: "reset"
        case .suspend: "suspend"
        case .resume: "resume"
        case .request: "request"
        case .response: "response"
        case .cancel: "cancel"
        default: hexadecimal(rawValue)
        }
    }
}

extension FrameType {
    /// The type's rule; nil when version 1.0 does not know the type.
    public var rule: FrameRule? {
        switch self {
        case .data, .opened: FrameRule(isReliable: true, scope: .session, isCut: true)
        case .transient: FrameRule(isReliable: false, scope: .session)
        case .ack, .ping, .pong, .goaway: FrameRule(isReliable: false, scope: .control)
        case .receipt, .open, .close, .suspend, .resume: FrameRule(isReliable: true, scope: .session)
        case .accepted, .gap: FrameRule(isReliable: true, scope: .session, isOfServer: true)
        case .hello, .welcome, .reject: FrameRule(isReliable: false, scope: .control, isHandshake: true)
        case .reset: FrameRule(isReliable: true, scope: .control)
        case .request, .response: FrameRule(isReliable: true, scope: .any, isCut: true)
        case .cancel: FrameRule(isReliable: true, scope: .any)
        default: nil
        }
    }
}
