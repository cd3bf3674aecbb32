import MartletTransport
public import MartletWire

/// A session of a link: a channel of messages between two programs, with a priority.
///
/// While the link lives, each message arrives exactly once and in order, over any number of connections. The session
/// keeps the object of its link alive. The release of its last reference closes it and discards further messages.
///
/// Its methods can be called from any task. Calls of ``send(_:)`` that wait are served in their order, and so are those
/// of one or several iterators over ``messages``.
public final class LinkSession: Sendable {
    /// The maximum number of bytes of a message under these limits of both sides, 1 MiB less 64 bytes by default.
    public static func maxMessageByteCount(_ limits: Limits) -> Int {
        limits.maxMessageByteCount - LinkSessions.messageOverheadByteCount
    }

    /// The kind, which determines the priority (S-51) and the window: the number of bytes of messages that the receiver
    /// has not taken, at most `Limits.sessionWindow` and one message. All sessions of a link share `Limits.linkWindow`.
    public let kind: SessionKind
    private let label: RoomName
    private let key: SessionKey
    let caller: LinkCaller

    init(_ caller: LinkCaller, _ key: SessionKey, _ label: RoomName, _ kind: SessionKind) {
        (self.caller, self.key, self.label, self.kind) = (caller, key, label, kind)
    }

    deinit { caller.post(.release(key)) }

    /// The name that the side has chosen that opened the session. Several sessions can have one name.
    public var name: String { label.text }

    /// Sends a message, and returns when the link has taken it.
    ///
    /// The call waits while the receiver has not taken the messages of a window. A call that is cancelled before it
    /// returns has sent nothing.
    ///
    /// - Throws: ``LinkFailure``, `CancellationError`.
    nonisolated(nonsending) public func send(_ message: [UInt8]) async throws {
        _ = try await caller.call(.send(message, on: key))
    }

    /// The messages of the other side, until it closes the session.
    ///
    /// A message that the application has not taken uses the window of the session, so a slow reader slows the sender.
    /// When the session or its link has ended otherwise, the iteration throws ``LinkFailure``, behind the messages that
    /// have arrived.
    public var messages: Messages { Messages(session: self) }

    /// Sends no more. The messages that were sent arrive, and those of the other side can still be taken.
    public func close() { caller.post(.close(key)) }

    /// Ends the session at once (S-10). Messages that have not arrived are discarded, and those that this side has not
    /// taken. The other side can still take those that have arrived there.
    public func reset(_ code: ErrorCode = .cancelled) { caller.post(.reset(key, code)) }

    /// An asynchronous sequence of messages; see ``LinkSession/messages``.
    public struct Messages: AsyncSequence, Sendable {
        let session: LinkSession

        /// Creates an iterator. All iterators of a session take from one queue.
        public func makeAsyncIterator() -> Iterator { Iterator(session: session) }

        /// An iterator over the messages.
        public struct Iterator: AsyncIteratorProtocol {
            let session: LinkSession

            /// Takes the next message; nil behind the last one. A call that is cancelled takes none.
            ///
            /// - Throws: ``LinkFailure``, `CancellationError`.
            public mutating func next() async throws -> [UInt8]? { try await next(isolation: nil) }

            /// Takes the next message, as ``next()`` does.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
                guard case .message(let bytes) = try await session.caller.call(.receive(session.key)) else {
                    return nil
                }
                return bytes
            }
        }
    }
}

/// An asynchronous sequence of the sessions that the other side of a link opens.
public struct LinkSessionSequence: AsyncSequence, Sendable {
    let caller: LinkCaller

    /// Creates an iterator. All iterators of a link take from one queue.
    public func makeAsyncIterator() -> Iterator { Iterator(caller: caller) }

    /// An iterator over the sessions.
    public struct Iterator: AsyncIteratorProtocol {
        let caller: LinkCaller

        /// Takes the next session; nil when the link has ended or was closed.
        ///
        /// - Throws: `LinkFailure.gaveUp`, `CancellationError`.
        public mutating func next() async throws -> LinkSession? { try await next(isolation: nil) }

        /// Takes the next session, as ``next()`` does.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> LinkSession? {
            do { return try await caller.session(.accept) } catch LinkFailure.linkEnded, LinkFailure.stopped {
                return nil
            }
        }
    }
}

/// The driver of one or several links, as the public objects see it. All calls are made on the loop.
protocol LinkDriver: AnyObject, Sendable {
    var loop: EventLoop { get }

    /// Begins a call about a link, whose result, if there is one, resolves the promise.
    func begin(_ call: SessionCall, on link: LinkKey?, _ promise: Promise<SessionResult>?)

    /// Cancels a call if it waits.
    func cancel(_ promise: Promise<SessionResult>, on link: LinkKey?)
}

/// The calls of the application about one link.
struct LinkCaller: Sendable {
    let driver: any LinkDriver
    /// The key of a link of a listener; nil at a client.
    let link: LinkKey?
    /// The public object of the link, which ends the link when it is released.
    let owner: any AnyObject & Sendable

    /// Performs a call, and returns its result.
    nonisolated(nonsending) func call(_ call: SessionCall) async throws -> SessionResult {
        try Task.checkCancellation()
        let promise = Promise<SessionResult>()
        driver.loop.execute { [driver, link] in driver.begin(call, on: link, promise) }
        return try await promise.value { [driver, link] in
            driver.loop.execute { driver.cancel(promise, on: link) }
        }
    }

    /// Performs a call whose result is a session.
    nonisolated(nonsending) func session(_ call: SessionCall) async throws -> LinkSession? {
        guard case .session(let key, let name, let kind) = try await self.call(call) else { return nil }
        return LinkSession(self, key, name, kind)
    }

    /// Opens a session.
    nonisolated(nonsending) func open(_ name: String, _ kind: SessionKind) async throws -> LinkSession {
        guard let label = RoomName(name) else { throw LinkFailure.invalidName(name) }
        guard let session = try await session(.open(label, kind)) else { throw LinkFailure.linkEnded }
        return session
    }

    /// Performs a call without a result.
    func post(_ call: SessionCall) {
        driver.loop.execute { [driver, link] in driver.begin(call, on: link, nil) }
    }
}

/// The calls of a driver that have no result yet. The number of a call is the address of its promise.
struct PendingCalls {
    private var promises: [CallID: Promise<SessionResult>] = [:]

    private static func number(_ promise: Promise<SessionResult>) -> CallID {
        CallID(UInt64(UInt(bitPattern: ObjectIdentifier(promise))))
    }

    /// Adds a call, which resolves a promise if it has a result.
    mutating func add(_ promise: Promise<SessionResult>?) -> CallID {
        guard let promise else { return CallID(0) }
        let id = Self.number(promise)
        promises[id] = promise
        return id
    }

    /// The call of a promise; nil when it has a result.
    func id(of promise: Promise<SessionResult>) -> CallID? {
        let id = Self.number(promise)
        return promises[id] == nil ? nil : id
    }

    /// Resolves the promise of a call.
    mutating func finish(_ id: CallID, _ result: SessionResult) {
        guard let promise = promises.removeValue(forKey: id) else { return }
        switch result {
        case .failed(let failure): promise.resolve(.failure(failure))
        case .cancelled: promise.resolve(.failure(CancellationError()))
        case .session, .link, .message, .done, .end: promise.resolve(.success(result))
        }
    }
}
