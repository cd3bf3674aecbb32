/// The life of a client's connections, one at a time (C-4).
///
///     disconnected ─► connecting ─► connected(awaitingWelcome ─► established) ─► disconnecting ─► disconnected
///
/// While it is connected another may be dialled beside it, a backup that takes its place when it is up first (C-63).
///
/// | state | owns | left by |
/// |---|---|---|
/// | disconnected | nothing; the ``ReconnectPolicy`` decides how long | connect, reconnect |
/// | connecting | a dial under way | its end, either way; deadline |
/// | connected, awaitingWelcome | a carrier, a hello on its way | welcome, reject, loss, a wish to end; deadline |
/// | connected, established | a carrier and a peer that answered; the ``Heartbeat`` decides how long | loss, a wish to end |
/// | either, racing | the same, and a dial of a backup | the same; the backup's end, either way; progress; silence |
/// | disconnecting | a carrier that sends what is left | the carrier's end, force; deadline |
///
/// Dialling is single-flight by construction: only ``Action/open(_:)`` and ``Action/race(_:)`` start an attempt, from
/// states that have none, they raise the ID, and what an older attempt reports is ``Answer/stale(_:)``. Every ID that
/// was opened, and every backup that took a connection's place, is reported ``Action/closed(_:_:)`` exactly once. What
/// happens when is the table in ``transitions``; an event that the table does not expect is reported and changes
/// nothing (C-6).
public struct ConnectionMachine: Equatable, Sendable {
    /// Where the connection is in its life.
    public enum State: Hashable, Sendable {
        /// No connection and none on its way.
        case disconnected
        /// A dial is under way.
        case connecting(ConnectionID)
        /// The carrier is up.
        case connected(ConnectionID, Handshake)
        /// The connection is being closed in good order.
        case disconnecting(ConnectionID)
    }

    /// How far the peers of a connected carrier have come.
    public enum Handshake: Hashable, Sendable {
        /// Hello has been sent and not been answered.
        case awaitingWelcome
        /// The peer has said welcome.
        case established
    }

    /// How long each state that has a deadline of its own may last (C-5).
    ///
    /// Established has none, it ends when the ``Heartbeat`` gives the peer up; disconnected has none, it ends when the
    /// ``ReconnectPolicy`` or the user says so.
    public struct Deadlines: Hashable, Sendable {
        /// From the start of a dial until the carrier is up: 15 s unless told otherwise.
        public var connecting: Duration
        /// From the carrier being up until welcome: 10 s unless told otherwise.
        public var handshake: Duration
        /// From the wish to end until the carrier has ended: 5 s unless told otherwise.
        public var disconnecting: Duration

        /// The deadlines given, the defaults for the others.
        public init(
            connecting: Duration = .seconds(15), handshake: Duration = .seconds(10),
            disconnecting: Duration = .seconds(5)
        ) {
            self.connecting = connecting
            self.handshake = handshake
            self.disconnecting = disconnecting
        }
    }

    /// Something that happened to the connection, or a wish about it.
    public enum Event: Hashable, Sendable {
        /// The user wants a connection; without effect while there is one or one is on its way.
        case connect
        /// The carrier is up.
        case connectSuccess(ConnectionID)
        /// The dial failed.
        case connectFailure(ConnectionID)
        /// The peer said welcome.
        case welcome(ConnectionID)
        /// The peer refused the hello.
        case reject(ConnectionID)
        /// The carrier failed, the peer ended it, or the heartbeat gave the peer up.
        case networkError(ConnectionID)
        /// The user wants the connection to end in good order.
        case disconnect
        /// The carrier has sent what was left and has ended.
        case disconnectComplete(ConnectionID)
        /// The connection must end now.
        case forceDisconnect
        /// A new connection must take this one's place: the path changed, the peer is leaving, or the policy says it is
        /// time.
        case reconnect
        /// Welcome or acknowledgements are overdue: another connection may be faster (C-63).
        case startBackup
        /// The connection goes on: the backup is not needed.
        case endBackup
        /// The backup's carrier is up.
        case backupConnected(ConnectionID)
        /// The connection is silent: it is over, and the backup's dial goes on alone.
        case giveUp
        /// The backup's dial failed.
        case backupFailed(ConnectionID)
    }

    /// One thing for the owner to do or to know.
    public enum Action: Hashable, Sendable {
        /// Start to dial under this ID.
        case open(ConnectionID)
        /// The carrier is up: send hello.
        case sendHello(ConnectionID)
        /// The handshake is done.
        case established(ConnectionID)
        /// Close the carrier: after what is left was sent, or at once.
        case close(ConnectionID, graceful: Bool)
        /// This connection is over; nothing that it reports matters from here on.
        case closed(ConnectionID, CloseCause)
        /// Start to dial a backup under this ID.
        case startBackup(ConnectionID)
        /// The backup is the connection from here on.
        case promoted(ConnectionID)
    }

    /// Why a connection is over.
    public enum CloseCause: Hashable, Sendable, CaseIterable {
        /// It was wanted.
        case requested
        /// The dial failed.
        case connectFailed
        /// The dial was not done by its deadline.
        case connectTimedOut
        /// No welcome came by its deadline.
        case handshakeTimedOut
        /// The peer refused the hello.
        case rejected
        /// The carrier failed or the peer was given up.
        case lost
        /// Another connection took its place.
        case replaced
    }

    /// What an event led to.
    public enum Answer: Hashable, Sendable {
        /// Do these, in this order.
        case act([Action])
        /// Nothing to do: what was wished is so already.
        case ignored
        /// News of an attempt that is not the current one; changes nothing.
        case stale(ConnectionID)
        /// An event that this state does not expect; changes nothing. Report it.
        case unexpected(Event, in: State)
    }

    /// How long the states may last.
    public let deadlines: Deadlines
    /// The current attempt or, while disconnected, the last one.
    public private(set) var current: ConnectionID
    /// The connection that is being dialled beside the current one.
    public private(set) var backup: ConnectionID?
    /// When the state ends of itself, if it has a deadline of its own.
    public private(set) var deadline: Instant?
    private var phase: Phase
    private var latest = ConnectionID.none

    /// A machine that is disconnected and has attempted nothing.
    public init(deadlines: Deadlines = Deadlines()) {
        self.deadlines = deadlines
        current = .none
        phase = .disconnected
    }

    /// Where the connection is in its life.
    public var state: State {
        switch phase {
        case .disconnected: .disconnected
        case .connecting: .connecting(current)
        case .awaitingWelcome, .awaitingWelcomeWithBackup: .connected(current, .awaitingWelcome)
        case .established, .establishedWithBackup: .connected(current, .established)
        case .disconnecting: .disconnecting(current)
        }
    }

    /// Takes one event.
    public mutating func handle(_ event: Event, now: Instant) -> Answer {
        if let id = event.connection, id != current || phase == .disconnected { return .stale(id) }
        if let id = event.backup, id != backup { return .stale(id) }
        switch Self.transitions[phase]?[event.trigger] {
        case .move(let next, let steps): return .act(move(to: next, steps, now: now))
        case .ignore: return .ignored
        case nil: return .unexpected(event, in: state)
        }
    }

    /// Ends a state whose deadline is at or before `now`; without effect when there is none.
    public mutating func deadlinePassed(now: Instant) -> Answer {
        guard let deadline, deadline <= now,
            case .move(let next, let steps) = Self.transitions[phase]?[.deadline]
        else { return .ignored }
        return .act(move(to: next, steps, now: now))
    }

    private mutating func move(to next: Phase, _ steps: [Step], now: Instant) -> [Action] {
        // A race for the welcome takes place in the time that there is for it.
        let goesOnWaiting = phase.awaitsWelcome && next.awaitsWelcome && !steps.contains(.promote)
        if !goesOnWaiting { deadline = deadlines.of(next).map { now + $0 } }
        phase = next
        defer { if next != .establishedWithBackup, next != .awaitingWelcomeWithBackup { backup = nil } }
        return steps.compactMap { step in
            switch step {
            case .open:
                latest = latest.next
                current = latest
                return .open(current)
            case .sendHello: return .sendHello(current)
            case .established: return .established(current)
            case .close(let graceful): return .close(current, graceful: graceful)
            case .closed(let cause): return .closed(current, cause)
            case .startBackup:
                latest = latest.next
                backup = latest
                return .startBackup(latest)
            case .closeBackup: return backup.map { .close($0, graceful: false) }
            case .promote:
                current = backup ?? current
                return .promoted(current)
            }
        }
    }
}

extension ConnectionMachine.Deadlines {
    fileprivate func of(_ phase: ConnectionMachine.Phase) -> Duration? {
        switch phase {
        case .disconnected, .established, .establishedWithBackup: nil
        case .connecting: connecting
        case .awaitingWelcome, .awaitingWelcomeWithBackup: handshake
        case .disconnecting: disconnecting
        }
    }
}
