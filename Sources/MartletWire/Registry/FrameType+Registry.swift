// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension FrameType {
    /// A message, or one fragment of a message.
    @inlinable
    public static var data: FrameType { FrameType(rawValue: 0x1000) }
    /// Typing, presence, or an unreliable content of an application.
    @inlinable
    public static var transient: FrameType { FrameType(rawValue: 0x1001) }
    /// Acknowledges the reliable frames of sessions and grants credit.
    @inlinable
    public static var ack: FrameType { FrameType(rawValue: 0x2001) }
    /// Reports messages as delivered, read or refused.
    @inlinable
    public static var receipt: FrameType { FrameType(rawValue: 0x2002) }
    /// Reports the messages that the relay has stored durably, with their offsets.
    @inlinable
    public static var accepted: FrameType { FrameType(rawValue: 0x2003) }
    /// Reports offsets that the reader does not receive.
    @inlinable
    public static var gap: FrameType { FrameType(rawValue: 0x2004) }
    /// Requests a pong.
    @inlinable
    public static var ping: FrameType { FrameType(rawValue: 0x3001) }
    /// Answers a ping.
    @inlinable
    public static var pong: FrameType { FrameType(rawValue: 0x3002) }
    /// The first frame of a client on a connection.
    @inlinable
    public static var hello: FrameType { FrameType(rawValue: 0x4001) }
    /// Accepts a hello.
    @inlinable
    public static var welcome: FrameType { FrameType(rawValue: 0x4002) }
    /// Refuses a hello.
    @inlinable
    public static var reject: FrameType { FrameType(rawValue: 0x4003) }
    /// Ends the connection with a reason.
    @inlinable
    public static var goaway: FrameType { FrameType(rawValue: 0x4004) }
    /// A message of an authentication exchange, or of the renewal of a credential.
    @inlinable
    public static var auth: FrameType { FrameType(rawValue: 0x4005) }
    /// Opens a session on a room.
    @inlinable
    public static var open: FrameType { FrameType(rawValue: 0x5001) }
    /// Accepts an open.
    @inlinable
    public static var opened: FrameType { FrameType(rawValue: 0x5002) }
    /// Ends a session after all its earlier frames.
    @inlinable
    public static var close: FrameType { FrameType(rawValue: 0x5003) }
    /// Ends a session at once.
    @inlinable
    public static var reset: FrameType { FrameType(rawValue: 0x5004) }
    /// Suspends delivery on a session.
    @inlinable
    public static var suspend: FrameType { FrameType(rawValue: 0x5005) }
    /// Resumes delivery on a session.
    @inlinable
    public static var resume: FrameType { FrameType(rawValue: 0x5006) }
    /// Reports the current entry of a room in the list of an account's rooms.
    @inlinable
    public static var update: FrameType { FrameType(rawValue: 0x5007) }
    /// Requests a response by a deadline.
    @inlinable
    public static var request: FrameType { FrameType(rawValue: 0x6001) }
    /// Answers a request.
    @inlinable
    public static var response: FrameType { FrameType(rawValue: 0x6002) }
    /// Cancels a request.
    @inlinable
    public static var cancel: FrameType { FrameType(rawValue: 0x6003) }
}

extension FrameType {
    /// All types of version 1.0, in the order of their numbers.
    package static let registered: [FrameType] = [
        .data, .transient, .ack, .receipt, .accepted, .gap, .ping, .pong, .hello, .welcome, .reject, .goaway, .auth,
        .open, .opened, .close, .reset, .suspend, .resume, .update, .request, .response, .cancel,
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
        case .auth: "auth"
        case .open: "open"
        case .opened: "opened"
        case .close: "close"
        case .reset: "reset"
        case .suspend: "suspend"
        case .resume: "resume"
        case .update: "update"
        case .request: "request"
        case .response: "response"
        case .cancel: "cancel"
        default: hexadecimal(rawValue)
        }
    }
}

extension FrameType {
    /// The rule of the type; nil for an unknown type.
    package var rule: FrameRule? {
        switch self {
        case .data, .opened: FrameRule(isReliable: true, scope: .session, allowsFragments: true)
        case .transient: FrameRule(isReliable: false, scope: .session)
        case .ack, .ping, .pong, .goaway: FrameRule(isReliable: false, scope: .control)
        case .receipt, .open, .close, .suspend, .resume: FrameRule(isReliable: true, scope: .session)
        case .accepted, .gap, .update: FrameRule(isReliable: true, scope: .session, isServerOnly: true)
        case .hello, .welcome, .reject, .auth: FrameRule(isReliable: false, scope: .control, isHandshake: true)
        case .reset: FrameRule(isReliable: true, scope: .control)
        case .request, .response: FrameRule(isReliable: true, scope: .any, allowsFragments: true)
        case .cancel: FrameRule(isReliable: true, scope: .any)
        default: nil
        }
    }
}
