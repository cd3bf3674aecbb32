import MartletLink
import MartletTransport
import MartletWire

/// The rooms of the account, and requests that belong to no room. These methods share one session of the account. The
/// first call opens the session, which then stays open. No room needs to be open.
///
/// A relay limits the rate of an account's operations to 1,024 units at once and 100 a second thereafter. A
/// change of a membership record and a page of the list cost 16 units each, and an invitation at a relay without roles
/// costs 64. This rate permits 64 joins at once, then 6 a second. Operations beyond it fail with
/// `answeredWithFailure`, `tooManyRequests` and ``MartletError/retryAfter``.
extension Client {
    /// The rooms that the account has joined or to which it is invited, in the order of the names' bytes.
    ///
    /// The method waits for the list of the relay, which includes the time until a connection is established. The list
    /// is kept current from then on, so later calls return at once while the client is online. After a change by a
    /// method of this client, such as `join(room:timeout:)`, the next call reads the list anew, which contains the
    /// change (C-110). Just after a reconnection, changes that the client missed may still be on their way;
    /// ``roomUpdates`` reports them. The list needs no open rooms: an account can join more rooms than a client can
    /// open (`Configuration.maxRooms`).
    ///
    /// Each page of the list that is requested costs 16 units of the account's rate of 1,024 units at once and 100 a
    /// second.
    ///
    /// - Throws: `answeredWithFailure` with `unsupportedKind` if the relay keeps no membership records; `gaveUp` if the
    ///   client has stopped retrying; `notStarted`, `stopped`.
    nonisolated(nonsending) public func rooms() async throws -> [RoomSummary] {
        try Task.checkCancellation()
        let promise = Promise<[RoomSummary]>()
        try post(.rooms(promise))
        return try await promise.value { [mailbox = life.mailbox] in
            if promise.resolve(.failure(CancellationError())) { mailbox.post(.abandonRooms(promise)) }
        }
    }

    /// The list of the account's rooms, followed by each change.
    ///
    /// The first element is the whole list. It is reported again after a new link, because changes may have been
    /// missed, and when ``rooms()`` reads it anew. The sequence supports any number of iterations. Each ends when the
    /// client has stopped or its task is cancelled. An iteration does not retain the client. An iteration that begins
    /// before the start of the client waits for it.
    public var roomUpdates: RoomUpdates { RoomUpdates(core: life.rooms, mailbox: life.mailbox) }

    /// Joins a room. The account keeps its membership record, even without a session, until it leaves the room.
    ///
    /// A relay permits 64 joins at once, and 6 a second thereafter. Beyond it the method throws
    /// `answeredWithFailure` with `tooManyRequests`; ``MartletError/retryAfter`` has the duration to wait.
    ///
    /// - Throws: `invalidName`; `answeredWithFailure` with `roomForbidden` if the account may not enter, or with
    ///   `tooManyMemberships`; the errors of ``request(_:content:timeout:)``.
    nonisolated(nonsending) public func join(room: String, timeout: Duration = .seconds(10)) async throws {
        try await join(room: try roomName(room), timeout: timeout)
    }

    /// Does the same as ``join(room:timeout:)-(String,_)``.
    nonisolated(nonsending) public func join(room: RoomName, timeout: Duration = .seconds(10)) async throws {
        try await perform(.join, room, timeout)
    }

    /// Leaves a room. Sessions of the account in the room are not affected.
    ///
    /// - Throws: `invalidName`; the errors of ``request(_:content:timeout:)``.
    nonisolated(nonsending) public func leave(room: String, timeout: Duration = .seconds(10)) async throws {
        try await leave(room: try roomName(room), timeout: timeout)
    }

    /// Does the same as ``leave(room:timeout:)-(String,_)``.
    nonisolated(nonsending) public func leave(room: RoomName, timeout: Duration = .seconds(10)) async throws {
        try await perform(.leave, room, timeout)
    }

    /// Declines the invitation to a room.
    ///
    /// - Throws: `invalidName`; the errors of ``request(_:content:timeout:)``.
    nonisolated(nonsending) public func decline(room: String, timeout: Duration = .seconds(10)) async throws {
        try await decline(room: try roomName(room), timeout: timeout)
    }

    /// Does the same as ``decline(room:timeout:)-(String,_)``.
    nonisolated(nonsending) public func decline(room: RoomName, timeout: Duration = .seconds(10)) async throws {
        try await perform(.decline, room, timeout)
    }

    /// Invites an account to a room. If the relay keeps roles, the account becomes a member unless it has a role.
    ///
    /// - Throws: `answeredWithFailure` with `notJoined` if this account has not joined the room, with
    ///   `forbidden` if its role does not permit it, or with `tooManyMemberships`; the errors of
    ///   ``request(_:content:timeout:)``.
    nonisolated(nonsending) public func invite(
        _ account: AccountName, to room: RoomName, timeout: Duration = .seconds(10)
    ) async throws {
        try await perform(.invite(account), room, timeout)
    }

    /// Marks the messages of a joined room up to an offset as read, without opening the room.
    ///
    /// - Parameters:
    ///   - cursor: The offset, and its log. Without a log the offset counts in the current one.
    ///   - room: The room.
    ///   - timeout: The duration for which the method waits.
    /// - Throws: `answeredWithFailure` with `notJoined`, or with `refused` if the log is not the room's;
    ///   the errors of ``request(_:content:timeout:)``.
    nonisolated(nonsending) public func markRead(
        upTo cursor: RoomCursor, in room: RoomName, timeout: Duration = .seconds(10)
    ) async throws {
        try await perform(.read(upTo: cursor.offset, log: cursor.log), room, timeout)
    }

    nonisolated(nonsending) private func perform(
        _ operation: MembershipOperation, _ room: RoomName, _ timeout: Duration
    ) async throws {
        let content = operation.content(of: room)
        // A request without an answer may have been executed.
        defer { life.mailbox.post(.roomsOutdated) }
        _ = try await request(operation.method.rawValue, content: content, timeout: timeout)
    }

    /// Sends a request that belongs to no room to the relay, and waits for the response of its request handler.
    ///
    /// The request waits for a connection. If the calling task is cancelled, the request is cancelled; it may have been
    /// executed.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - content: TLVs in the encoding of Specs/wire.md §4, of at most ``Room/maxRequestByteCount`` bytes.
    ///   - timeout: The duration for which the method waits.
    /// - Throws: `answeredWithFailure`, with `unsupportedKind` if the relay serves no requests without a room, with
    ///   `tooManyRequests` if 64 have no answer or, with ``MartletError/retryAfter``, beyond the rate of the account;
    ///   `deadlineExceeded` after the timeout; `connectionLost` if the link ends before the response;
    ///   `tooManyRequests`, `invalidName`, `invalidContent`, `messageTooLarge`; `gaveUp` if the client has stopped
    ///   retrying; `notStarted`, `stopped`.
    nonisolated(nonsending) public func request(
        _ method: String, content: [UInt8]? = nil, timeout: Duration = .seconds(10)
    ) async throws -> Answer {
        guard let name = MethodName(method) else { throw MartletError.invalidName(method) }
        if let content {
            guard content.count <= Room.maxRequestByteCount else {
                throw MartletError.messageTooLarge(byteCount: content.count, limit: Room.maxRequestByteCount)
            }
            try check(content)
        }
        try Task.checkCancellation()
        let promise = Promise<Answer>()
        let call = RequestCall(method: name, content: content, recipient: nil, deadline: timeout, promise: promise)
        try post(.accountRequest(call))
        return try await promise.value { [mailbox = life.mailbox] in
            if promise.resolve(.failure(CancellationError())) { mailbox.post(.abandonRequest(promise)) }
        }
    }

    /// Sends a request with a value of the application, and returns the value in the response.
    ///
    /// - Throws: The errors of ``request(_:content:timeout:)``; `invalidContent` if a value cannot be encoded or
    ///   decoded.
    nonisolated(nonsending) public func request<Response: Decodable>(
        _ method: String, _ value: some Encodable, timeout: Duration = .seconds(10)
    ) async throws -> Response {
        try await request(method, content: try encoded(value), timeout: timeout).decode()
    }

    private func post(_ command: Mailbox.Command) throws(MartletError) {
        switch life.mailbox.post(command) {
        case .posted: break
        case .notStarted: throw .notStarted
        case .stopped: throw .stopped
        }
    }
}
