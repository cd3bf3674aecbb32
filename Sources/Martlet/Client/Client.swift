import MartletProtocol
public import MartletTransport
public import MartletWire

/// A client of a relay: one account on one device, with any number of rooms, over one connection at a time.
///
/// It connects by itself as often as it takes, and what is sent waits until it can go. A client runs on one loop, which
/// many can share; it can be used from any task. It has one life: started, stopped, and not started again. One that
/// nobody refers to any more is stopped without waiting for anything, so keep it as long as its rooms are used. One
/// whose loop is shut down has stopped with that.
///
/// Methods that wait throw ``MartletError``, or `CancellationError` when their task is cancelled; each says what has
/// then happened.
public final class Client: Sendable {
    let life: ClientLife

    /// A client of the relay at one address, such as `martlet://chat.example.com:7227`.
    ///
    /// - Parameters:
    ///   - outbox: where unaccepted messages and cursors are kept.
    ///   - loop: where the client runs.
    /// - Throws: `invalidEndpoint`, `invalidName`; `tlsUnavailable` for `martlets://` and for an address without a
    ///   scheme, since TLS
    ///   is what is meant by it and is not there yet.
    public convenience init(
        to endpoint: String, as credentials: Credentials, outbox: some Outbox = .memory,
        configuration: Configuration = Configuration(), on loop: EventLoop = .shared
    ) throws(MartletError) {
        try self.init(to: [endpoint], as: credentials, outbox: outbox, configuration: configuration, on: loop)
    }

    /// A client of a relay with several addresses; whichever answers first is taken (RFC 8305).
    ///
    /// - Throws: as the other initializer; `invalidEndpoint` with an empty text when there is none.
    public init(
        to endpoints: [String], as credentials: Credentials, outbox: some Outbox = .memory,
        configuration: Configuration = Configuration(), on loop: EventLoop = .shared
    ) throws(MartletError) {
        guard !endpoints.isEmpty else { throw .invalidEndpoint("") }
        var parsed: [Endpoint] = []
        for text in endpoints { parsed.append(try plainEndpoint(text)) }
        let account = try accountName(credentials.account)
        life = ClientLife(
            ClientIdentity(
                account: account, endpoints: parsed, provider: credentials.provider, configuration: configuration),
            outbox: outbox, loop: loop)
    }

    deinit {
        life.abandon()
    }

    /// The account that the client signs in as.
    public var account: AccountName { life.identity.account }

    // MARK: Life

    /// Opens the outbox and begins to connect; it does not wait for that. Started already, it does nothing.
    ///
    /// Cancelled while the outbox is opened, the client is not started, provided that the outbox obeys.
    ///
    /// - Throws: `outboxFailed`, and then the client can be started again; `stopped`.
    nonisolated(nonsending) public func start() async throws {
        defer { withExtendedLifetime(self) {} }
        try await life.start()
    }

    /// Waits for queued messages to be accepted, up to `flushTimeout`, says goodbye, and ends all that waits or
    /// iterates. What was not accepted stays in the outbox.
    ///
    /// It gives up on an outbox that does not answer: a `send` that waits for one throws `stopped`, and then the outbox
    /// may have the message. Cancellation does not shorten it.
    nonisolated(nonsending) public func stop() async {
        await life.stop()
    }

    /// Opens a room. Returns when the relay has let us in, which may take as long as it takes to connect; with
    /// `waitsForRelay` false at once. Afterwards the room survives every loss of connection.
    ///
    /// Cancelled, the room is closed again.
    ///
    /// - Throws: `invalidName`, `roomAlreadyOpen`, `tooManyRooms`; `roomClosed` when the relay refuses for good;
    ///   `gaveUp` when
    ///   the client does not try to connect any more; `notStarted`, `stopped`.
    nonisolated(nonsending) public func open(room: String, options: Room.Options = Room.Options()) async throws -> Room
    {
        guard let name = RoomName(room) else { throw MartletError.invalidName(room) }
        try Task.checkCancellation()
        let promise = Promise<RoomCore>()
        switch life.mailbox.post(.open(name, options, promise)) {
        case .posted: break
        case .notStarted: throw MartletError.notStarted
        case .stopped: throw MartletError.stopped
        }
        let core = try await promise.value { [mailbox = life.mailbox] in
            mailbox.post(.abandonOpen(promise))
        }
        return Room(core)
    }

    // MARK: Connection

    /// Where the client stands and why: first the present status, then the latest whenever it has changed. For any
    /// number of iterations; each ends when the client has stopped or its task is cancelled.
    public var status: StatusUpdates { StatusUpdates(latest: life.status) }

    /// Where the client stands and why, now.
    public var currentStatus: Status { life.status.value }

    /// Connects at once where the client waits to, also after it gave up.
    public func retryNow() {
        life.mailbox.wish { $0.retriesNow = true }
    }

    /// The application is in front of its user: the relay is asked at once whether it is there, whenever this is
    /// called.
    public func enterForeground() {
        life.mailbox.wish { $0.mode = .foreground }
    }

    /// The application is in the background: the heartbeat slows down.
    public func enterBackground() {
        life.mailbox.wish { $0.mode = .background }
    }

    /// What the client has done so far; after its end, what it had done. Always soon there.
    public var statistics: Statistics {
        get async {
            let promise = Promise<Statistics>()
            guard life.mailbox.post(.statistics(promise)) == .posted else { return life.lastStatistics }
            return (try? await promise.value()) ?? life.lastStatistics
        }
    }
}

private func plainEndpoint(_ text: String) throws(MartletError) -> Endpoint {
    guard let endpoint = try? Endpoint(parsing: text) else { throw .invalidEndpoint(text) }
    // Never in the clear what was to be secret (W-1, C-12, Specs/hostile.md row 25).
    guard endpoint.security == .plain else { throw .tlsUnavailable }
    return endpoint
}
