import MartletWire

/// A room of a client: its session, its reader, and the messages that are sent to it, which are in the
/// ``MessageLedger``.
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
    let ledger: any LedgerOwner
    private(set) var options: RoomOptions
    private var state = State.closed
    /// Sessions that ended since the last one that was open.
    private var attempts = 0
    var reader: RoomReader
    var typing = TypingMembers()
    /// Whether the application has suspended the delivery of messages.
    var isSuspended = false
    /// Whether the server has asked to hold back frames (S-9).
    var isHeldBack = false

    init(id: RoomID, name: RoomName, options: RoomOptions, limits: Limits, ledger: any LedgerOwner) {
        self.id = id
        self.name = name
        self.ledger = ledger
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

    /// The session, unless the server has asked to hold back frames.
    var sendingSession: SessionID? { isHeldBack ? nil : session }

    /// The session, if the relay has admitted it.
    var openSession: SessionID? { if case .open(let session) = state { session } else { nil } }

    /// The frame that opens a session after the cursor.
    var openFrame: Open {
        Open(
            room: name, kind: options.kind, cursor: reader.cursor.offset, log: reader.cursor.log, tail: reader.tail,
            noLocal: !options.includesOwnMessages)
    }

    mutating func begin(_ session: SessionID) {
        state = .opening(session)
        isHeldBack = false
        reader.begin()
    }

    /// The relay has admitted the session.
    ///
    /// - Returns: the previous cursor, when the relay has lost messages that the application has received.
    mutating func enter(_ opened: Opened, on session: SessionID) -> RoomCursor? {
        state = .open(session)
        attempts = 0
        return reader.enter(opened)
    }

    /// The session is over. The next session is given all pending messages.
    mutating func endSession() {
        state = .closed
        ledger.withLedger { $0.endSession() }
    }

    /// Counts an attempt to open a session again; answers their number.
    mutating func countAttempt() -> Int {
        attempts += 1
        return attempts
    }

    /// Begins again with other options. Pending messages stay.
    mutating func reset(_ options: RoomOptions, limits: Limits) {
        endSession()
        attempts = 0
        self.options = options
        reader = RoomReader(options, limits)
    }
}
