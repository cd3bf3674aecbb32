/// A failure of a WebSocket (RFC 6455).
public enum WebSocketError: Error, Sendable, Hashable {
    /// The server answered the request for a WebSocket with this status of HTTP.
    case refused(status: UInt16)
    /// The answer of the server is not HTTP, or does not accept the WebSocket with its protocol.
    case invalidResponse
    /// A frame has a reserved bit, which only an extension uses.
    case reservedBits
    /// A frame has an opcode without a meaning.
    case unknownOpcode
    /// A frame of a client is not masked, or one of a server is.
    case invalidMask
    /// The length of a frame is not encoded in the fewest bytes, or is above 2⁶³ − 1.
    case invalidLength
    /// A control frame is fragmented, or longer than 125 bytes.
    case invalidControlFrame
    /// A frame continues no message, or begins one within another.
    case invalidFragment
    /// A message is a text.
    case textMessage
    /// A close frame has one byte, or a code that is not sent.
    case invalidClose
    /// The reason in a close frame is not UTF-8.
    case invalidCloseReason
}

extension WebSocketError: CustomStringConvertible {
    /// A description for people.
    public var description: String {
        switch self {
        case .refused(let status): "the request for a WebSocket was answered with the status \(status)"
        case .invalidResponse: "the peer does not accept a WebSocket of Martlet"
        case .reservedBits: "a WebSocket frame has a reserved bit"
        case .unknownOpcode: "a WebSocket frame has an unknown opcode"
        case .invalidMask: "a WebSocket frame has the mask of the other side"
        case .invalidLength: "a WebSocket frame has an invalid length"
        case .invalidControlFrame: "a WebSocket control frame is fragmented or too long"
        case .invalidFragment: "a WebSocket message has an invalid fragment"
        case .textMessage: "a WebSocket message is a text"
        case .invalidClose: "a WebSocket close frame has an invalid code"
        case .invalidCloseReason: "the reason in a WebSocket close frame is not UTF-8"
        }
    }
}
