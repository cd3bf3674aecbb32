public import MartletProtocol
public import MartletWire

/// Why a call on a client failed. Besides this, a call that waits throws only `CancellationError`.
public enum MartletError: Error, Equatable, Sendable {
    /// The text names no relay, or one of several texts does not.
    case invalidEndpoint(String)
    /// The endpoint wants TLS (`martlets://`, also when no scheme is given), which this version does not have.
    case tlsUnavailable
    /// The name of an account, room or method is empty, too long, or holds what a name may not (W-31).
    case invalidName(String)
    /// The content is not made of well-formed fields, or not of those that its kind has.
    case invalidContent(String)
    /// The message is larger than may be sent.
    case messageTooLarge(byteCount: Int, limit: Int)
    /// The client has this room open already.
    case roomAlreadyOpen(String)
    /// `Configuration.maxRooms` rooms are open.
    case tooManyRooms(limit: Int)
    /// `Configuration.maxRequests` requests wait for their answers.
    case tooManyRequests(limit: Int)
    /// The client has not been started.
    case notStarted
    /// The client has been stopped.
    case stopped
    /// The client does not try to connect any more; `retryNow` makes it try again.
    case gaveUp(StopReason)
    /// The room is closed: by this side, or by the relay with a code.
    case roomClosed(ErrorCode?)
    /// The message will not be accepted.
    case notAccepted(SendFailure)
    /// The request was answered, with a failure.
    case answeredWithFailure(ErrorCode, reason: String?)
    /// No answer came in time.
    case deadlineExceeded
    /// The link on which a request was made is gone, and perhaps the request with it.
    case connectionLost
    /// The outbox failed; the text is its error's.
    case outboxFailed(String)

    /// Who failed.
    public enum Origin: Sendable {
        /// The program that called.
        case caller
        /// The relay, by its decision.
        case relay
        /// Another member of the room.
        case member
        /// Whatever lies between here and the relay.
        case network
        /// The outbox.
        case storage
    }

    /// How far a failure reaches.
    public enum Scope: Sendable {
        /// This call only; everything else goes on.
        case call
        /// This message.
        case message
        /// This room.
        case room
        /// Everything that the client does.
        case client
    }

    /// Who failed.
    public var origin: Origin {
        switch self {
        case .invalidEndpoint, .tlsUnavailable, .invalidName, .invalidContent, .messageTooLarge, .roomAlreadyOpen,
            .tooManyRooms, .tooManyRequests, .notStarted, .stopped, .roomClosed(nil):
            .caller
        case .notAccepted(.cancelled), .notAccepted(.closed): .caller
        case .notAccepted(.expired), .deadlineExceeded, .connectionLost, .gaveUp(.attemptLimit): .network
        case .gaveUp, .roomClosed, .notAccepted: .relay
        case .answeredWithFailure: .member
        case .outboxFailed: .storage
        }
    }

    /// How far the failure reaches.
    public var scope: Scope {
        switch self {
        case .invalidEndpoint, .tlsUnavailable, .notStarted, .stopped, .gaveUp: .client
        case .roomClosed: .room
        case .invalidContent, .messageTooLarge, .notAccepted: .message
        case .invalidName, .roomAlreadyOpen, .tooManyRooms, .tooManyRequests, .answeredWithFailure,
            .deadlineExceeded, .connectionLost, .outboxFailed:
            .call
        }
    }
}

extension MartletError: CustomStringConvertible {
    /// One line for a person. Texts from outside are part of it; what cannot be printed in them is shown as `\u{XXXX}`.
    public var description: String { PrintableText.line(sentence) }

    private var sentence: String {
        switch self {
        case .invalidEndpoint(let text): "\"\(text)\" names no relay"
        case .tlsUnavailable: "TLS is not available in this version; a plain endpoint begins with martlet://"
        case .invalidName(let text): "\"\(text)\" is no name\(NameFault(text).map { ": \($0)" } ?? "")"
        case .invalidContent(let text): "the content is not valid: \(text)"
        case .messageTooLarge(let byteCount, let limit): "the message has \(byteCount) bytes, \(limit) are allowed"
        case .roomAlreadyOpen(let name): "the room \(name) is open already"
        case .tooManyRooms(let limit): "more than \(limit) rooms"
        case .tooManyRequests(let limit): "more than \(limit) requests wait for answers"
        case .notStarted: "the client has not been started"
        case .stopped: "the client has been stopped"
        case .gaveUp(let reason): "the client does not try any more: \(reason)"
        case .roomClosed(nil): "the room has been closed"
        case .roomClosed(let code?): "the relay closed the room: \(code)"
        case .notAccepted(.refused(let code, let reason)):
            "the message was refused: \(code)\(reason.map { ", \($0)" } ?? "")"
        case .notAccepted(let failure): "the message was not accepted: \(failure)"
        case .answeredWithFailure(let code, let reason):
            "the request failed: \(code)\(reason.map { ", \($0)" } ?? "")"
        case .deadlineExceeded: "no answer came in time"
        case .connectionLost: "the link was lost before an answer came"
        case .outboxFailed(let text): "the outbox failed: \(text)"
        }
    }
}
