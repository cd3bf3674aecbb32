/// The parsed body of a frame of any type.
///
/// Engines parse `data` after reassembly, as a ``MessageView``. This type is for readers of single complete frames.
public enum Frame: Equatable, Sendable {
    /// A message.
    case message(Message)
    /// An unreliable frame, which is not stored.
    case transient(Transient)
    /// An acknowledgement of received frames.
    case ack(Ack)
    /// A report of messages that were delivered, read or refused.
    case receipt(Receipt)
    /// A report of messages that the relay has accepted.
    case accepted(Accepted)
    /// A report of offsets that the reader does not receive.
    case gap(Gap)
    /// A request for a pong.
    case ping(Ping)
    /// The answer to a ping.
    case pong(Pong)
    /// The first frame of a client.
    case hello(Hello)
    /// The acceptance of a hello.
    case welcome(Welcome)
    /// The refusal of a hello.
    case reject(Reject)
    /// The last frame of a connection.
    case goAway(GoAway)
    /// A message of an authentication exchange, or of the renewal of a credential.
    case auth(Auth)
    /// A request to open a session.
    case open(Open)
    /// The acceptance of an open.
    case opened(Opened)
    /// The orderly end of a session.
    case close(Close)
    /// The immediate end of a session.
    case reset(Reset)
    /// A request to suspend delivery on a session.
    case suspend(Suspend)
    /// A request to resume delivery on a session.
    case resume(Resume)
    /// A report of a room in the list of an account's rooms.
    case update(RoomUpdate)
    /// A request to another account or to the relay.
    case request(Request)
    /// The response to a request.
    case response(Response)
    /// The cancellation of a request.
    case cancelRequest(CancelRequest)
    /// A frame of an unknown type that is not critical.
    case unknown(FrameType)

    /// Parses the complete body of a frame type.
    ///
    /// - Throws: `WireError.unknownCriticalFrame`, or the errors of ``FrameBody/init(parsing:)``.
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
        case .auth: .auth(try Auth(parsing: body))
        case .open: .open(try Open(parsing: body))
        case .opened: .opened(try Opened(parsing: body))
        case .close: .close(try Close(parsing: body))
        case .reset: .reset(try Reset(parsing: body))
        case .suspend: .suspend(try Suspend(parsing: body))
        case .resume: .resume(try Resume(parsing: body))
        case .update: .update(try RoomUpdate(parsing: body))
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

    /// The type in the header of the frame.
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
        case .auth: .auth
        case .open: .open
        case .opened: .opened
        case .close: .close
        case .reset: .reset
        case .suspend: .suspend
        case .resume: .resume
        case .update: .update
        case .request: .request
        case .response: .response
        case .cancelRequest: .cancel
        case .unknown(let type): type
        }
    }

    /// Returns the encoded body; empty for an unknown type.
    public func encode() -> [UInt8] {
        body?.encode() ?? []
    }

    /// The body as its own type; nil for an unknown type.
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
        case .auth(let body): body
        case .open(let body): body
        case .opened(let body): body
        case .close(let body): body
        case .reset(let body): body
        case .suspend(let body): body
        case .resume(let body): body
        case .update(let body): body
        case .request(let body): body
        case .response(let body): body
        case .cancelRequest(let body): body
        case .unknown: nil
        }
    }
}
