public import MartletProtocol
public import MartletTransport
public import MartletWire

/// An error thrown by ``Client``, ``Room``, ``RoomRequest`` and ``MessageHandle``.
///
/// Methods that wait also throw `CancellationError` when their task is cancelled. They throw no other errors.
public enum MartletError: Error, Equatable, Sendable {
    /// The text is not a valid relay address. The text is empty if the list of addresses is empty.
    case invalidEndpoint(String)
    /// The address has the scheme `martlet://`, which does not use TLS, and its host is not this machine, or the
    /// credentials contain a password. See ``Client/Configuration/allowsPlaintext``.
    case plaintextNotAllowed(String)
    /// A property of the configuration is out of its range. The text names the property and the range.
    case invalidConfiguration(String)
    /// The TLS options are not valid. The error names the file.
    case invalidTLS(TLSError)
    /// The text is not a valid name of an account, a room or a method: it is empty or too long, or contains a character
    /// that names exclude (W-31).
    case invalidName(String)
    /// The content is not a sequence of well-formed TLVs, or lacks a field that its kind requires. The text describes
    /// the fault.
    case invalidContent(String)
    /// The content exceeds the limit. Both numbers are in bytes.
    case messageTooLarge(byteCount: Int, limit: Int)
    /// The client has already opened this room.
    case roomAlreadyOpen(String)
    /// The client has `Configuration.maxRooms` open rooms.
    case tooManyRooms(limit: Int)
    /// The client has `Configuration.maxRequests` requests without an answer.
    case tooManyRequests(limit: Int)
    /// The client has not been started.
    case notStarted
    /// The client has been stopped.
    case stopped
    /// The client has stopped retrying to connect. ``Client/retryNow()`` starts a new attempt.
    case gaveUp(StopReason)
    /// The room is closed. The code is the relay's, or nil if the application closed the room.
    case roomClosed(ErrorCode?)
    /// The message has failed: the relay will not accept it.
    case notAccepted(SendFailure)
    /// The request was answered with a failure.
    case answeredWithFailure(ErrorCode, reason: String?)
    /// The request was not answered within its timeout.
    case deadlineExceeded
    /// The link ended before the request was answered. It is unknown whether the request was executed.
    case connectionLost
    /// The cursor belongs to a log that the relay has lost. The value is the identity of the present log.
    case logReplaced(current: LogID?)
    /// The outbox threw an error. The text describes that error.
    case outboxFailed(String)
    /// The outbox contains as many messages or bytes without an outcome as its quota permits. Wait until messages are
    /// accepted, or cancel some.
    case outboxFull(limit: OutboxQuota)
    /// The outbox does not contain the dead letter that a message replaces. It was retried, discarded or removed
    /// before. ``Room/retry(_:)`` then returns nil.
    case unknownDeadLetter
    /// Another iteration over the messages of the room is active.
    case alreadyIterating
    /// The delivery, or a later one of the room, was acknowledged before, or another iteration returns it again.
    case alreadyAcknowledged
    /// The number of replies of a delivery exceeds the limit.
    case tooManyReplies(limit: Int)

    /// The party that caused an error.
    public enum Origin: Sendable {
        /// The calling program.
        case caller
        /// The relay, by a decision.
        case relay
        /// Another member of the room.
        case member
        /// The network between client and relay.
        case network
        /// The outbox.
        case storage
    }

    /// The part of the client that an error affects.
    public enum Scope: Sendable {
        /// The failed call only.
        case call
        /// One message.
        case message
        /// One room.
        case room
        /// The whole client.
        case client
    }

    /// The party that caused this error.
    public var origin: Origin {
        switch self {
        case .invalidEndpoint, .plaintextNotAllowed, .invalidConfiguration, .invalidTLS, .invalidName, .invalidContent,
            .messageTooLarge, .roomAlreadyOpen, .tooManyRooms, .tooManyRequests, .notStarted, .stopped,
            .roomClosed(nil):
            .caller
        case .notAccepted(.cancelled), .notAccepted(.closed): .caller
        case .unknownDeadLetter, .alreadyIterating, .alreadyAcknowledged, .tooManyReplies: .caller
        case .notAccepted(.expired), .notAccepted(.outcomeUnknown), .deadlineExceeded, .connectionLost,
            .gaveUp(.attemptLimit):
            .network
        case .gaveUp, .roomClosed, .notAccepted, .logReplaced: .relay
        case .answeredWithFailure: .member
        case .outboxFailed, .outboxFull: .storage
        }
    }

    /// The part of the client that this error affects.
    public var scope: Scope {
        switch self {
        case .invalidEndpoint, .plaintextNotAllowed, .invalidConfiguration, .invalidTLS, .notStarted, .stopped, .gaveUp:
            .client
        case .roomClosed: .room
        case .invalidContent, .messageTooLarge, .notAccepted: .message
        case .invalidName, .roomAlreadyOpen, .tooManyRooms, .tooManyRequests, .answeredWithFailure,
            .deadlineExceeded, .connectionLost, .logReplaced, .outboxFailed, .outboxFull, .unknownDeadLetter,
            .alreadyIterating, .alreadyAcknowledged, .tooManyReplies:
            .call
        }
    }
}

extension MartletError: CustomStringConvertible {
    /// A description in one line. Unprintable characters of a text that came from outside the library appear as
    /// `\u{XXXX}`.
    public var description: String { PrintableText.line(sentence) }

    private var sentence: String {
        switch self {
        case .invalidEndpoint(let text): "\"\(text)\" is not a valid relay address"
        case .plaintextNotAllowed(let text):
            "\"\(text)\" does not use TLS, which is allowed to this machine only, without a password"
        case .invalidConfiguration(let text): "the configuration is not valid: \(text)"
        case .invalidTLS(let error): "\(error)"
        case .invalidName(let text): "\"\(text)\" is not a valid name\(NameFault(text).map { ": \($0)" } ?? "")"
        case .invalidContent(let text): "the content is not valid: \(text)"
        case .messageTooLarge(let byteCount, let limit): "the message has \(byteCount) bytes; the limit is \(limit)"
        case .roomAlreadyOpen(let name): "the room \(name) is already open"
        case .tooManyRooms(let limit): "\(limit) rooms are open, which is the limit"
        case .tooManyRequests(let limit): "\(limit) requests have no answer yet, which is the limit"
        case .notStarted: "the client has not been started"
        case .stopped: "the client has been stopped"
        case .gaveUp(let reason): "the client has stopped retrying: \(reason)"
        case .roomClosed(nil): "the room has been closed"
        case .roomClosed(let code?): "the relay closed the room: \(code)"
        case .notAccepted(.refused(let code, let reason)):
            "the message was refused: \(code)\(reason.map { ", \($0)" } ?? "")"
        case .notAccepted(.outcomeUnknown): "it is unknown whether the message was accepted, and it is too old"
        case .notAccepted(let failure): "the message was not accepted: \(failure)"
        case .answeredWithFailure(let code, let reason):
            "the request failed: \(code)\(reason.map { ", \($0)" } ?? "")"
        case .deadlineExceeded: "the request was not answered within its timeout"
        case .connectionLost: "the link ended before the request was answered"
        case .logReplaced: "the relay has lost the log to which the cursor belongs"
        case .outboxFailed(let text): "the outbox failed: \(text)"
        case .outboxFull(.messages(let count)): "the outbox contains \(count) unaccepted messages, which is the limit"
        case .outboxFull(.bytes(let count)): "the unaccepted messages of the outbox exceed the limit of \(count) bytes"
        case .alreadyIterating: "another iteration over the messages of the room is active"
        case .alreadyAcknowledged: "the delivery was acknowledged before, or is returned again"
        case .tooManyReplies(let limit): "the delivery has too many replies; the limit is \(limit)"
        case .unknownDeadLetter: "the failed message was retried or discarded before"
        }
    }
}
