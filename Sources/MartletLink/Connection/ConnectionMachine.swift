/// The state machine of a client's connection, of which there is at most one at a time (C-4).
///
///     disconnected ─► connecting ─► connected(awaitingWelcome ─► established) ─► disconnecting ─► disconnected
///
/// A connected machine can attempt a backup connection, which replaces the current connection if it is established
/// first (C-63).
///
/// | state | owns | left by |
/// |---|---|---|
/// | disconnected | nothing; ``ReconnectPolicy`` determines the duration | connect, reconnect |
/// | connecting | a connection attempt | its success or failure; deadline |
/// | connected, awaitingWelcome | a carrier, a hello without an answer | welcome, reject, loss, disconnect; deadline |
/// | connected, established | a carrier; ``Heartbeat`` determines the duration | loss, disconnect |
/// | either, with a backup | the same, and a backup attempt | the same; the end of the backup attempt; progress; silence |
/// | disconnecting | a carrier that sends its remaining bytes | the end of the carrier, force; deadline |
///
/// At most one attempt and one backup exist at a time: only ``Action/open(_:)`` and ``Action/startBackup(_:)`` start an
/// attempt, from states without one, with a new identifier. Reports of earlier attempts result in ``Answer/stale(_:)``.
/// The machine reports ``Action/closed(_:_:)`` exactly once for each identifier that it opened, and for each backup
/// that replaced a connection. The table ``transitions`` defines all transitions. An event that the table does not
/// contain is reported and changes nothing (C-6).
package struct ConnectionMachine: Equatable, Sendable {
    /// The state of the connection.
    package enum State: Hashable, Sendable {
        /// There is no connection and no attempt.
        case disconnected
        /// An attempt is in progress.
        case connecting(ConnectionID)
        /// The carrier is connected.
        case connected(ConnectionID, Handshake)
        /// The carrier sends its remaining bytes and closes.
        case disconnecting(ConnectionID)
    }

    /// The state of the handshake on a connected carrier.
    package enum Handshake: Hashable, Sendable {
        /// The client has sent hello and received no answer.
        case awaitingWelcome
        /// The client has received welcome.
        case established
    }

    /// The timeouts of the states that have one (C-5).
    ///
    /// The state established ends when ``Heartbeat`` reports the connection as dead; disconnected ends when
    /// ``ReconnectPolicy`` or the user requests a connection.
    package struct Deadlines: Hashable, Sendable {
        /// The maximum duration from the start of an attempt until the carrier is connected, 15 s by default.
        package var connecting: Duration
        /// The maximum duration from the connection of the carrier until welcome, 10 s by default.
        package var handshake: Duration
        /// The maximum duration from the request to disconnect until the end of the carrier, 5 s by default.
        package var disconnecting: Duration

        /// Creates timeouts.
        package init(
            connecting: Duration = .seconds(15), handshake: Duration = .seconds(10),
            disconnecting: Duration = .seconds(5)
        ) {
            self.connecting = connecting
            self.handshake = handshake
            self.disconnecting = disconnecting
        }
    }

    /// An event of the connection, or a request of the user.
    package enum Event: Hashable, Sendable {
        /// The user requests a connection. The event is ignored if there is a connection or an attempt.
        case connect
        /// The carrier is connected.
        case connectSuccess(ConnectionID)
        /// The attempt failed.
        case connectFailure(ConnectionID)
        /// The peer sent welcome.
        case welcome(ConnectionID)
        /// The peer refused the hello.
        case reject(ConnectionID)
        /// The carrier failed, the peer ended it, or the heartbeat reported the connection as dead.
        case networkError(ConnectionID)
        /// The user requests an orderly end of the connection.
        case disconnect
        /// The carrier has sent its remaining bytes and has ended.
        case disconnectComplete(ConnectionID)
        /// The user requests an immediate end of the connection.
        case forceDisconnect
        /// A new connection must replace this one, because the path has changed, the peer is leaving, or the reconnect
        /// policy requires it.
        case reconnect
        /// Welcome or acknowledgements are overdue, and another connection may be faster (C-63).
        case startBackup
        /// The connection has made progress, and the backup is no longer needed.
        case endBackup
        /// The carrier of the backup is connected.
        case backupConnected(ConnectionID)
        /// The connection is silent. It ends, and the backup attempt continues in its place.
        case promoteBackup
        /// The backup attempt failed.
        case backupFailed(ConnectionID)
    }

    /// An action for the owner of the machine.
    package enum Action: Hashable, Sendable {
        /// Start an attempt with this identifier.
        case open(ConnectionID)
        /// Send hello, because the carrier is connected.
        case sendHello(ConnectionID)
        /// Report that the handshake has finished.
        case established(ConnectionID)
        /// Close the carrier, after its remaining bytes were sent if `graceful` is true.
        case close(ConnectionID, graceful: Bool)
        /// Report the end of the connection. Its later reports are stale.
        case closed(ConnectionID, CloseCause)
        /// Start a backup attempt with this identifier.
        case startBackup(ConnectionID)
        /// Use the backup as the connection from now on.
        case promoted(ConnectionID)
    }

    /// The cause of the end of a connection.
    package enum CloseCause: Hashable, Sendable, CaseIterable {
        /// The user requested the end.
        case requested
        /// The attempt failed.
        case connectFailed
        /// The attempt exceeded its timeout.
        case connectTimedOut
        /// The handshake exceeded its timeout.
        case handshakeTimedOut
        /// The peer refused the hello.
        case rejected
        /// The carrier failed, or the heartbeat reported the connection as dead.
        case lost
        /// Another connection replaced this one.
        case replaced
    }

    /// The result of an event.
    package enum Answer: Hashable, Sendable {
        /// The owner performs these actions in order.
        case act([Action])
        /// There is nothing to do, because the requested state is already in effect.
        case ignored
        /// The event belongs to an earlier attempt and changes nothing.
        case stale(ConnectionID)
        /// The table contains no transition for the event in this state. The event changes nothing, and the owner
        /// reports it.
        case unexpected(Event, in: State)
    }

    /// The timeouts of the states.
    package private(set) var deadlines: Deadlines
    /// The current attempt or connection; the latest one while disconnected.
    package private(set) var current: ConnectionID
    /// The backup attempt beside the current connection; nil if there is none.
    package private(set) var backup: ConnectionID?
    /// The deadline of the state; nil if the state has no timeout.
    package private(set) var deadline: Instant?
    private var phase: Phase
    private var latest = ConnectionID.none

    /// Creates a disconnected machine without attempts.
    package init(deadlines: Deadlines = Deadlines()) {
        self.deadlines = deadlines
        current = .none
        phase = .disconnected
    }

    /// The state of the connection.
    package var state: State {
        switch phase {
        case .disconnected: .disconnected
        case .connecting: .connecting(current)
        case .awaitingWelcome, .awaitingWelcomeWithBackup: .connected(current, .awaitingWelcome)
        case .established, .establishedWithBackup: .connected(current, .established)
        case .disconnecting: .disconnecting(current)
        }
    }

    /// Processes an event at the instant `now`.
    package mutating func handle(_ event: Event, now: Instant) -> Answer {
        if let id = event.connection, id != current || phase == .disconnected { return .stale(id) }
        if let id = event.backup, id != backup { return .stale(id) }
        switch Self.transitions[phase]?[event.trigger] {
        case .move(let next, let steps): return .act(move(to: next, steps, now: now))
        case .ignore: return .ignored
        case nil: return .unexpected(event, in: state)
        }
    }

    /// Ends a state whose deadline is at or before `now`. Returns `ignored` if there is none.
    package mutating func deadlinePassed(now: Instant) -> Answer {
        guard let deadline, deadline <= now,
            case .move(let next, let steps) = Self.transitions[phase]?[.deadline]
        else { return .ignored }
        return .act(move(to: next, steps, now: now))
    }

    private mutating func move(to next: Phase, _ steps: [Step], now: Instant) -> [Action] {
        // A backup attempt does not extend the deadline of the handshake.
        let keepsDeadline = phase.awaitsWelcome && next.awaitsWelcome && !steps.contains(.promote)
        if !keepsDeadline { deadline = deadlines.of(next).map { now + $0 } }
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

extension ConnectionMachine: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try deadlines.connecting.archive(&archive)
        try deadlines.handshake.archive(&archive)
        try deadlines.disconnecting.archive(&archive)
        try current.archive(&archive)
        try archive.optional(&backup, .none)
        try archive.optional(&deadline, .zero)
        try archive.choice(&phase)
        try latest.archive(&archive)
    }
}
