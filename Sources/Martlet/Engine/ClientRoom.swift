import MartletLink
import MartletWire

/// A room of a client: its session, its reader, and the ``MessageLedger`` of the stored messages that are sent to it.
///
/// | state | data | ends |
/// |---|---|---|
/// | closed | | `begin` |
/// | opening | the session | `enter`, `endSession` |
/// | open | the session | `endSession` |
struct ClientRoom {
    private enum State {
        case closed
        case opening(SessionID)
        case open(SessionID)
    }

    let id: RoomID
    let name: RoomName
    private(set) var options: RoomOptions
    private var state = State.closed
    /// The number of sessions that have begun.
    private(set) var sessionCount: UInt64 = 0
    /// The last offset of the log when the relay admitted the session.
    private(set) var head: UInt64 = 0
    /// The instant before which the relay accepts no session (S-64).
    var opensFrom = Instant.zero
    /// The number of attempts to open a session since the last open one.
    private var attempts = 0
    var ledger = MessageLedger()
    var reader: RoomReader
    var typing = TypingMembers()
    /// Whether the application has suspended the delivery of messages.
    var isSuspended = false
    /// Whether the server has suspended the session (S-9).
    var isSuspendedByPeer = false

    init(id: RoomID, name: RoomName, options: RoomOptions, limits: Limits) {
        self.id = id
        self.name = name
        self.options = options
        reader = RoomReader(options, limits)
    }

    // MARK: The session

    var session: SessionID? {
        switch state {
        case .closed: nil
        case .opening(let session), .open(let session): session
        }
    }

    /// The session, unless the server has suspended it.
    var sendingSession: SessionID? { isSuspendedByPeer ? nil : session }

    /// The session, if the relay has admitted it.
    var openSession: SessionID? { if case .open(let session) = state { session } else { nil } }

    /// The frame `open` of a session after the cursor.
    var openFrame: Open {
        Open(
            room: name, kind: options.kind, cursor: reader.cursor.offset, log: reader.cursor.log, tail: reader.tail,
            noLocal: !options.includesOwnMessages)
    }

    mutating func begin(_ session: SessionID) {
        state = .opening(session)
        head = 0
        sessionCount += 1
        isSuspendedByPeer = false
        reader.begin()
    }

    /// Reports that the relay has admitted the session.
    ///
    /// - Returns: The previous cursor, if the log is a different one or has lost messages.
    mutating func enter(_ opened: Opened, on session: SessionID) -> RoomCursor? {
        state = .open(session)
        attempts = 0
        head = opened.head
        return reader.enter(opened)
    }

    /// Reports the end of the session. The next session sends all pending messages again.
    mutating func endSession() {
        state = .closed
        ledger.endSession()
    }

    /// Counts an attempt to open a session again, and returns the number of attempts.
    mutating func countAttempt() -> Int {
        attempts += 1
        return attempts
    }

    /// Ends the session and sets other options. Pending messages remain.
    mutating func reset(_ options: RoomOptions, limits: Limits) {
        endSession()
        attempts = 0
        self.options = options
        reader = RoomReader(options, limits)
    }
}
