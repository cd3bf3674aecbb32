import MartletWire

/// A room of a client: its session, its reader, and the messages that are sent to it, which are in the
/// ``MessageLedger``.
///
/// | state | data | ends |
/// |---|---|---|
/// | closed | attempts to open a session since the last that was open | `begin` |
/// | opening | the session, and the attempts | `enter`, `endSession` |
/// | open | the session | `endSession` |
struct ClientRoom {
    private enum State {
        case closed(attempts: Int)
        case opening(SessionID, attempts: Int)
        case open(SessionID)
    }

    let id: RoomID
    let name: RoomName
    let ledger: any LedgerOwner
    private(set) var options: RoomOptions
    private var state = State.closed(attempts: 0)
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
        case .opening(let session, _), .open(let session): session
        }
    }

    /// The session, unless the server has asked to hold back frames.
    var sendingSession: SessionID? { isHeldBack ? nil : session }

    var isOpen: Bool { if case .open = state { true } else { false } }

    /// The frame that opens a session after the cursor.
    var openFrame: Open {
        Open(
            room: name, kind: options.kind, cursor: reader.cursor.offset, log: reader.cursor.log, tail: reader.tail,
            noLocal: !options.echo)
    }

    mutating func begin(_ session: SessionID) {
        state = .opening(session, attempts: attempts)
        isHeldBack = false
        reader.begin()
    }

    /// The relay has admitted the session.
    ///
    /// - Returns: the previous cursor, when the relay has lost messages that the application has received.
    mutating func enter(_ opened: Opened, on session: SessionID) -> RoomCursor? {
        state = .open(session)
        return reader.enter(opened)
    }

    /// The session is over. The next session is given all pending messages.
    mutating func endSession() {
        state = .closed(attempts: attempts)
        ledger.withLedger { $0.endSession() }
    }

    /// Counts an attempt to open a session again; answers their number.
    mutating func countAttempt() -> Int {
        let count = attempts + 1
        state = .closed(attempts: count)
        return count
    }

    private var attempts: Int {
        switch state {
        case .closed(let attempts), .opening(_, let attempts): attempts
        case .open: 0
        }
    }

    /// Begins again with other options. Pending messages stay.
    mutating func reset(_ options: RoomOptions, limits: Limits) {
        endSession()
        state = .closed(attempts: 0)
        self.options = options
        reader = RoomReader(options, limits)
    }
}
