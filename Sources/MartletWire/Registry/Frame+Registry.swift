// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

/// The parsed body of a frame of any type. Engines parse `data` after reassembly, as a ``MessageView``.
package enum Frame: Equatable, Sendable {
    /// A message, or one fragment of a message.
    case message(Message)
    /// Typing, presence, or an unreliable content of an application.
    case transient(Transient)
    /// Acknowledges the reliable frames of sessions and grants credit.
    case ack(Ack)
    /// Reports messages as delivered, read or refused.
    case receipt(Receipt)
    /// Reports the messages that the relay has stored durably, with their offsets.
    case accepted(Accepted)
    /// Reports offsets that the reader does not receive.
    case gap(Gap)
    /// Requests a pong.
    case ping(Ping)
    /// Answers a ping.
    case pong(Pong)
    /// The first frame of a client on a connection.
    case hello(Hello)
    /// Accepts a hello.
    case welcome(Welcome)
    /// Refuses a hello.
    case reject(Reject)
    /// Ends the connection with a reason.
    case goAway(GoAway)
    /// A message of an authentication exchange, or of the renewal of a credential.
    case auth(Auth)
    /// Opens a session on a room.
    case open(Open)
    /// Accepts an open.
    case opened(Opened)
    /// Ends a session after all its earlier frames.
    case close(Close)
    /// Ends a session at once.
    case reset(Reset)
    /// Suspends delivery on a session.
    case suspend(Suspend)
    /// Resumes delivery on a session.
    case resume(Resume)
    /// Reports the current entry of a room in the list of an account's rooms.
    case update(RoomUpdate)
    /// Requests a response by a deadline.
    case request(Request)
    /// Answers a request.
    case response(Response)
    /// Cancels a request.
    case cancelRequest(CancelRequest)
    /// A frame of an unknown type that is not critical.
    case unknown(FrameType)
}

extension Frame {
    /// Parses the complete body of a frame type.
    ///
    /// - Throws: `WireError.unknownCriticalFrame`, or the errors of ``FrameBody/init(parsing:)``.
    package static func parse(type: FrameType, body: RawSpan) throws(WireError) -> Frame {
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
        default: try unknown(checking: type)
        }
    }

    /// The type in the header of the frame.
    package var type: FrameType {
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

    /// The body as its own type; nil for an unknown type.
    package var body: (any FrameBody)? {
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
