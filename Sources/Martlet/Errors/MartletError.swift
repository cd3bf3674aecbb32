public import MartletLink
public import MartletWire

/// An error thrown by ``Client``, ``Room``, ``RoomRequest`` and ``MessageHandle``.
///
/// Its ``code-swift.property`` states the kind of the error, the other properties the details:
///
/// ```swift
/// do {
///     try await room.send(text)
/// } catch let error as MartletError where error.code == .messageTooLarge {
///     show("at most \(error.limit ?? 0) bytes")
/// } catch MartletError.Code.roomClosed {
///     show("the room is closed")
/// }
/// ```
///
/// Further codes can be added, so a `switch` over codes has a default. Methods that wait also throw `CancellationError`
/// when their task is cancelled. They throw no other errors.
public struct MartletError: Error, Sendable {
    /// The kind of an error.
    ///
    /// The raw value is a stable key for translations and logs.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code, such as `roomClosed`.
        public let rawValue: String

        /// Creates a code with a name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }
    }

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

    let detail: MartletErrorDetail
    /// The error that caused this one: that of the outbox, of TLS, or of the encoding of a value; nil if there is none.
    /// Two errors that differ only in it are equal.
    public let underlying: (any Error)?

    init(_ detail: MartletErrorDetail, underlying: (any Error)? = nil) {
        self.detail = detail
        self.underlying = underlying
    }

    /// The kind of the error.
    public var code: Code { detail.code }
    /// The party that caused the error.
    public var origin: Origin { detail.origin }
    /// The part of the client that the error affects.
    public var scope: Scope { detail.scope }
}

extension MartletError: Hashable {
    /// Returns whether two errors have the same code and details.
    public static func == (left: MartletError, right: MartletError) -> Bool {
        left.detail == right.detail
    }

    /// Hashes the code and the details.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(detail)
    }
}

extension MartletError {
    /// The address or name that was refused; nil for other errors.
    public var argument: String? {
        switch detail {
        case .invalidEndpoint(let text), .plaintextNotAllowed(let text), .invalidName(let text): text
        default: nil
        }
    }

    /// The name of the room that is closed or already open; nil for other errors.
    public var room: String? {
        switch detail {
        case .roomAlreadyOpen(let name): name.text
        case .roomClosed(_, let name): name?.text
        default: nil
        }
    }

    /// The limit that was exceeded: bytes of a message, rooms, requests, replies, or messages or bytes of an outbox;
    /// nil for other errors.
    public var limit: Int? {
        switch detail {
        case .messageTooLarge(_, let limit), .tooManyRooms(let limit), .tooManyRequests(let limit),
            .tooManyReplies(let limit), .tooManyTransfers(let limit):
            limit
        case .outboxFull(.messages(let count)), .outboxFull(.bytes(let count)): count
        default: nil
        }
    }

    /// The quota of the outbox that was exceeded; nil for other errors.
    public var quota: OutboxQuota? {
        if case .outboxFull(let quota) = detail { quota } else { nil }
    }

    /// The size of the message that is too large, in bytes; nil for other errors.
    public var byteCount: Int? {
        if case .messageTooLarge(let byteCount, _) = detail { byteCount } else { nil }
    }

    /// The error code with which the relay closed the room or refused the message, or the member answered; nil if there
    /// is none.
    public var errorCode: ErrorCode? {
        switch detail {
        case .roomClosed(let code, _): code
        case .notAccepted(.refused(let code, _)): code
        case .answeredWithFailure(let code, _, _): code
        case .attachmentRefused(let code): code
        default: nil
        }
    }

    /// An explanation for people: that of the relay or the member, or the fault of the configuration, content or
    /// outbox; nil if there is none. It can contain any characters.
    public var reason: String? {
        switch detail {
        case .invalidConfiguration(let text), .invalidContent(let text), .outboxFailed(let text), .fileFailed(let text):
            text
        case .invalidTLS(let error): "\(error)"
        case .answeredWithFailure(_, let reason, _), .notAccepted(.refused(_, let reason)): reason
        default: nil
        }
    }

    /// The duration after which the request may succeed, as named by the relay or the member, at most an hour; nil if
    /// neither named one (S-65).
    public var retryAfter: Duration? {
        if case .answeredWithFailure(_, _, let retryAfter) = detail { retryAfter } else { nil }
    }

    /// The reason why the client has stopped retrying; nil for other errors.
    public var stopReason: StopReason? {
        if case .gaveUp(let reason) = detail { reason } else { nil }
    }

    /// The reason why the message was not accepted; nil for other errors.
    public var sendFailure: SendFailure? {
        if case .notAccepted(let failure) = detail { failure } else { nil }
    }

    /// The identity of the current log after `logReplaced`; nil for other errors, and with a relay that does not
    /// identify its logs.
    public var currentLog: LogID? {
        if case .logReplaced(let current) = detail { current } else { nil }
    }
}
