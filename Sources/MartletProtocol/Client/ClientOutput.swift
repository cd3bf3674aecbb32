public import MartletWire

/// What a client engine wants done or known by its shell.
public enum ClientOutput: Equatable, Sendable {
    /// Dial the configured endpoints, or the one the server named; answer with `connected` or `connectFailed`.
    case connect(ConnectionID, redirect: String?)
    /// Get a credential for this attempt, or for the renewal on this established connection; answer with `credential`
    /// or `credentialFailed`. The dial goes on meanwhile.
    case fetchCredential(ConnectionID)
    /// Compute the answer to a message of the server in the authentication exchange; answer with `answer` or
    /// `exchangeFailed`.
    case answerChallenge(ConnectionID, Credential)
    /// If the current connection's carrier has lost what it was given and is stuck, dial beside it and get a credential
    /// for that, as for `connect`; if not, answer with `connectFailed` (C-63).
    case startBackup(ConnectionID, beside: ConnectionID)
    /// End the connection, or the dial; it may be over already. Graceful: what `transmit` still gives goes out first.
    case close(ConnectionID, graceful: Bool)
    /// Ask `transmit` for bytes when the connection can take some.
    case transmit(ConnectionID)
    /// Why the client is online or not has changed.
    case status(ClientStatus)
    /// Something happened in a room.
    case room(RoomID, RoomEvent)
    /// A request has its outcome.
    case response(request: UInt64, RequestOutcome)
    /// After `stop`: the last connection is over.
    case stopped
}

/// The link of an engine and the outputs that its driver has not taken.
struct ClientPort: Sendable {
    var link: Link
    var outputs = Deque<ClientOutput>()

    mutating func report(_ id: RoomID, _ event: RoomEvent) {
        outputs.append(.room(id, event))
    }
}

/// What happens in a room.
public enum RoomEvent: Equatable, Sendable {
    /// The server has lost what the application has seen of the room: the cursor was `previous`, and delivery goes on
    /// after `current`. In another log that is before its first message; in the same one, or where logs have no names,
    /// it is the head. Told in front of `opened`.
    case logReplaced(previous: RoomCursor, current: RoomCursor)
    /// The server let us in; again after each new link. `log` is nil when the server does not name it.
    case opened(head: UInt64, first: UInt64, members: [AccountName], log: LogID? = nil)
    /// A message, in order and once; hand `creditByteCount` back with `consumed`.
    case message(Message, creditByteCount: Int)
    /// These messages of ours were handed to a connection.
    case sent(counters: ClosedRange<UInt64>)
    /// The server has these messages of ours durably; offset 0 when it no longer knows where.
    case accepted(AcceptedRun)
    /// A message of ours will not be accepted.
    case failed(counter: UInt64, SendFailure)
    /// How far another member is: all our messages up to the offset are delivered to it or read by it.
    case progress(Receipt.Progress)
    /// These offsets are not available any more.
    case gap(ClosedRange<UInt64>)
    /// A member came, went, or lost its connection.
    case presence(AccountName, Transient.Presence)
    /// A member types, or no longer: it said so, is not online any more, or has not repeated it in time.
    case typing(AccountName, Bool)
    /// A member's transient frame of an application's kind.
    case transient(AccountName, ContentKind, [UInt8])
    /// A member asks; answer with `respond`.
    case request(IncomingRequest)
    /// The member no longer waits for the answer.
    case requestCancelled(correlation: UInt64)
    /// The room is closed for good: by us, or by the server with a reason.
    case closed(ErrorCode?)
}

/// Why a message was not accepted.
public enum SendFailure: Hashable, Sendable {
    /// The server refused it.
    case refused(ErrorCode, reason: String?)
    /// Its time to live ran out before it was handed to a connection.
    case expired
    /// It was cancelled before it was handed to a connection.
    case cancelled
    /// The room was closed first.
    case closed
}

/// A member's request.
public struct IncomingRequest: Equatable, Sendable {
    /// The number to answer under.
    public var correlation: UInt64
    /// What is asked.
    public var method: MethodName
    /// Who asks.
    public var sender: AccountName
    /// What with, as TLVs.
    public var content: [UInt8]?
    /// How long the member waits, from when it was asked.
    public var deadline: Duration
}

/// What became of a request.
public enum RequestOutcome: Equatable, Sendable {
    /// It was answered; status `none` is success.
    case answered(status: ErrorCode, reason: String?, content: [UInt8]?)
    /// No answer came: `deadlineExceeded`, `cancelled`, or `resumeRejected` when the link was lost with it.
    case failed(ErrorCode)
}
