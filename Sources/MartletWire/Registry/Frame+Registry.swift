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

    /// Returns the encoded body; empty for an unknown type.
    package func encode() -> [UInt8] {
        switch self {
        case .message(let body): body.encode()
        case .transient(let body): body.encode()
        case .ack(let body): body.encode()
        case .receipt(let body): body.encode()
        case .accepted(let body): body.encode()
        case .gap(let body): body.encode()
        case .ping(let body): body.encode()
        case .pong(let body): body.encode()
        case .hello(let body): body.encode()
        case .welcome(let body): body.encode()
        case .reject(let body): body.encode()
        case .goAway(let body): body.encode()
        case .auth(let body): body.encode()
        case .open(let body): body.encode()
        case .opened(let body): body.encode()
        case .close(let body): body.encode()
        case .reset(let body): body.encode()
        case .suspend(let body): body.encode()
        case .resume(let body): body.encode()
        case .update(let body): body.encode()
        case .request(let body): body.encode()
        case .response(let body): body.encode()
        case .cancelRequest(let body): body.encode()
        case .unknown: []
        }
    }
}
