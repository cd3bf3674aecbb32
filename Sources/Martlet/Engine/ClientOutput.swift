package import MartletLink
public import MartletWire

/// An action that a client engine requests of its driver, or an event that it reports.
package enum ClientOutput: Equatable, Sendable {
    /// An action or event of the link.
    case link(LinkOutput)
    /// An event of a room.
    case room(RoomID, RoomEvent)
    /// The relay knows messages of this device that it has not sent: its stored state was set back or copied. The
    /// driver stores another device ID and calls `replaceDevice(by:now:)`.
    case replaceDevice
    /// An event of the account's own session.
    case account(AccountEvent)
    /// The outcome of a request.
    case response(request: UInt64, RequestOutcome)
    /// An event of a transfer of an attachment.
    case transfer(TransferID, TransferEvent)
}

extension Deque where Element == ClientOutput {
    mutating func report(_ id: RoomID, _ event: RoomEvent) { append(.room(id, event)) }
}

/// An event of a room.
package enum RoomEvent: Equatable, Sendable {
    /// The server has lost the log that was read up to `previous`. Delivery continues after `current`: in another log,
    /// before its first message; in the same log, or without log identities, at the last offset. Up to
    /// `branch` the log has the messages of the previous one, at the same offsets. `opened` follows.
    case logReplaced(previous: RoomCursor, current: RoomCursor, branch: UInt64 = 0)
    /// The server has admitted the session, on each new link again. `log` is nil if the server does not identify its
    /// logs. Up to `branch` it has the messages of the previous log, if that is a different one.
    case opened(head: UInt64, first: UInt64, members: [AccountName], log: LogID? = nil, branch: UInt64? = nil)
    /// A message, once and in order. `consumed` releases its credit of `creditByteCount`.
    case message(Message, creditByteCount: Int)
    /// Messages of this device were written to a connection.
    case sent(counters: ClosedRange<UInt64>)
    /// The server has stored messages of this device durably. The offset is 0 if the server no longer knows it.
    case accepted(AcceptedRun)
    /// A message of this device will not be accepted.
    case failed(counter: UInt64, SendFailure)
    /// A member has received or read all messages up to an offset.
    case progress(Receipt.Progress)
    /// The messages at these offsets will not be delivered.
    case gap(ClosedRange<UInt64>)
    /// The presence of an account has changed.
    case presence(AccountName, Transient.Presence)
    /// An account has started or stopped typing. It also stops when it is not online, or has not repeated its report in
    /// time.
    case typing(AccountName, Bool)
    /// A member has sent a transient frame.
    case transient(AccountName, ContentKind, [UInt8])
    /// A member has sent a request, which `respond` answers.
    case request(IncomingRequest)
    /// The member no longer waits for the response.
    case requestCancelled(IncomingRequest.ID)
    /// The server has ended the session, or has refused a request of a transfer in the room, and the client tries again
    /// later. Messages and transfers wait meanwhile.
    case delayed(ErrorCode)
    /// The room is closed permanently. The code is the server's, or nil if the application closed the room.
    case closed(ErrorCode?)
}

extension RoomEvent {
    init(_ opened: Opened, branch: UInt64?) {
        self = .opened(
            head: opened.head, first: opened.first, members: opened.members, log: opened.log, branch: branch)
    }
}

/// The reason why a message was not accepted.
public enum SendFailure: Hashable, Sendable {
    /// The server refused the message.
    case refused(ErrorCode, reason: String?)
    /// The time to live ended before the message was written to a connection.
    case expired
    /// The message was cancelled before it was written to a connection.
    case cancelled
    /// The room was closed before the message was published.
    case closed
    /// The message was published, and the room ended before the server answered (C-74), or it is too old to be
    /// published again (C-80). The server may have accepted it: a retry can publish it twice.
    case outcomeUnknown
    /// The file of the message could not be read, or has other bytes than when the message was sent (M-26).
    case fileFailed
}

extension SendFailure {
    /// A stable key for translations and logs, the name of the case.
    public var key: String {
        switch self {
        case .refused: "refused"
        case .expired: "expired"
        case .cancelled: "cancelled"
        case .closed: "closed"
        case .outcomeUnknown: "outcomeUnknown"
        case .fileFailed: "fileFailed"
        }
    }
}

/// A request of a member.
package struct IncomingRequest: Equatable, Sendable, Identifiable {
    /// Identifies a request of a room. A restarted server uses the same numbers again, so a number identifies a request
    /// of one session only (S-57).
    package struct ID: Hashable, Sendable {
        /// The number of the room's session, counted from 1.
        package var session: UInt64
        /// The number of the request, repeated in the response.
        package var correlation: UInt64

        /// Creates the ID of a request.
        package init(session: UInt64, correlation: UInt64) {
            self.session = session
            self.correlation = correlation
        }
    }

    /// The ID with which ``ClientEngine`` accepts the response.
    package var id: ID
    /// The name of the method.
    package var method: MethodName
    /// The account that sent the request.
    package var sender: AccountName
    /// The content of the request, as TLVs.
    package var content: [UInt8]?
    /// The duration for which the sender waits, from its sending.
    package var deadline: Duration
}

/// The outcome of a request.
package enum RequestOutcome: Equatable, Sendable {
    /// The response. The status `none` reports success; any other status may name the duration after which the request
    /// may succeed, at most an hour (S-65).
    case answered(status: ErrorCode, reason: String?, content: [UInt8]?, retryAfter: Duration? = nil)
    /// There is no response: `deadlineExceeded`, `cancelled`, `resumeRejected` if the request's link was lost, or
    /// `tooManySessions` if the link has no session left for requests of the account.
    case failed(ErrorCode)
}
