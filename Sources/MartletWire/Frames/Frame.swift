/// A frame's body, whatever its type.
///
/// Engines take `data` to ``MessageView`` themselves, after reassembly; here it is parsed too, for who reads whole
/// frames one by one.
public enum Frame: Equatable, Sendable {
    /// A message.
    case message(Message)
    /// What may be lost.
    case transient(Transient)
    /// What has arrived.
    case ack(Ack)
    /// What became of messages.
    case receipt(Receipt)
    /// What the relay has durably.
    case accepted(Accepted)
    /// What the reader will not get.
    case gap(Gap)
    /// Asks for a proof of life.
    case ping(Ping)
    /// Answers it.
    case pong(Pong)
    /// Begins the handshake.
    case hello(Hello)
    /// Accepts it.
    case welcome(Welcome)
    /// Refuses it.
    case reject(Reject)
    /// Ends the connection.
    case goAway(GoAway)
    /// Opens a session.
    case open(Open)
    /// Answers it.
    case opened(Opened)
    /// Ends a session in good order.
    case close(Close)
    /// Ends a session at once.
    case reset(Reset)
    /// Holds a session.
    case suspend(Suspend)
    /// Ends the hold.
    case resume(Resume)
    /// Asks for an answer.
    case request(Request)
    /// Answers it.
    case response(Response)
    /// Withdraws it.
    case cancelRequest(CancelRequest)
    /// A type that version 1.0 does not know and that may be skipped.
    case unknown(FrameType)

    /// Parses a whole body of a type.
    ///
    /// - Throws: `WireError.unknownCriticalFrame`, or what the type's `init(parsing:)` throws.
    public static func parse(type: FrameType, body: RawSpan) throws(WireError) -> Frame {
        switch type {
        case .data: .message(try Message(parsing: body))
        case .transient: .transient(try Transient(parsing: body))
        case .ack: .ack(try Ack(parsing: body))
        case .receipt: .receipt(try Receipt(parsing: body))
        case .accepted: .accepted(try Accepted(parsing: body))
        case .gap: .gap(try Gap(parsing: body))
        case .ping: .ping(try Ping(parsing: body))
        case .pong: .pong(try Pong(parsing: body))
        case .hello: .hello(try Hello(parsing: body))
        case .welcome: .welcome(try Welcome(parsing: body))
        case .reject: .reject(try Reject(parsing: body))
        case .goaway: .goAway(try GoAway(parsing: body))
        case .open: .open(try Open(parsing: body))
        case .opened: .opened(try Opened(parsing: body))
        case .close: .close(try Close(parsing: body))
        case .reset: .reset(try Reset(parsing: body))
        case .suspend: .suspend(try Suspend(parsing: body))
        case .resume: .resume(try Resume(parsing: body))
        case .request: .request(try Request(parsing: body))
        case .response: .response(try Response(parsing: body))
        case .cancel: .cancelRequest(try CancelRequest(parsing: body))
        default: try parseUnknown(type)
        }
    }

    private static func parseUnknown(_ type: FrameType) throws(WireError) -> Frame {
        if type.isCritical { throw .unknownCriticalFrame(type) }
        return .unknown(type)
    }

    /// The type that a header before the body names.
    public var type: FrameType {
        switch self {
        case .message: .data
        case .transient: .transient
        case .ack: .ack
        case .receipt: .receipt
        case .accepted: .accepted
        case .gap: .gap
        case .ping: .ping
        case .pong: .pong
        case .hello: .hello
        case .welcome: .welcome
        case .reject: .reject
        case .goAway: .goaway
        case .open: .open
        case .opened: .opened
        case .close: .close
        case .reset: .reset
        case .suspend: .suspend
        case .resume: .resume
        case .request: .request
        case .response: .response
        case .cancelRequest: .cancel
        case .unknown(let type): type
        }
    }

    /// The body as bytes; none for a type that is not known.
    public func encode() -> [UInt8] {
        body?.encode() ?? []
    }

    /// The type's own value; nil for a type that is not known.
    public var body: (any FrameBody)? {
        switch self {
        case .message(let body): body
        case .transient(let body): body
        case .ack(let body): body
        case .receipt(let body): body
        case .accepted(let body): body
        case .gap(let body): body
        case .ping(let body): body
        case .pong(let body): body
        case .hello(let body): body
        case .welcome(let body): body
        case .reject(let body): body
        case .goAway(let body): body
        case .open(let body): body
        case .opened(let body): body
        case .close(let body): body
        case .reset(let body): body
        case .suspend(let body): body
        case .resume(let body): body
        case .request(let body): body
        case .response(let body): body
        case .cancelRequest(let body): body
        case .unknown: nil
        }
    }
}
