import MartletWire

/// A room as its client has it: its session, its cursor, and what is to be reported to the relay. Its messages are in
/// the ``MessageLedger``.
struct ClientRoom {
    let id: RoomID
    let name: RoomName
    var options: RoomOptions
    var session: SessionID?
    var isOpen = false
    /// The log, and the highest offset of it given to the application or told to it as missing.
    private(set) var cursor: RoomCursor
    /// How near to the head to begin; nil once the relay has let the session in, which settles the cursor.
    private(set) var tail: UInt32?
    /// What the application has of this room and has not taken.
    var held: HeldMessages
    /// Whether messages were dropped for it.
    private(set) var isLagging = false
    /// The room's head when the relay let the session in last.
    private var head: UInt64 = 0
    /// The messages that are sent to the room.
    let ledger: any LedgerOwner
    private(set) var delivered: UInt64 = 0
    private(set) var read: UInt64 = 0
    var reportedDelivered: UInt64 = 0
    var reportedRead: UInt64 = 0
    var isSuspended = false
    /// Whether the server has asked to hold back what can wait (S-9).
    var isHeldBack = false
    var reopenAttempts = 0
    var typing = TypingMembers()

    init(id: RoomID, name: RoomName, options: RoomOptions, limits: Limits, ledger: any LedgerOwner) {
        self.ledger = ledger
        held = Self.held(options, limits)
        self.id = id
        self.name = name
        self.options = options
        cursor = options.cursor
        tail = options.tail
    }

    /// Begins anew with these options; what waits to be accepted stays.
    mutating func beginAgain(_ options: RoomOptions, limits: Limits) {
        self.options = options
        cursor = options.cursor
        tail = options.tail
        held = Self.held(options, limits)
        isLagging = false
        head = 0
        endSession()
        delivered = 0
        read = 0
        reportedDelivered = 0
        reportedRead = 0
        reopenAttempts = 0
    }

    private static func held(_ options: RoomOptions, _ limits: Limits) -> HeldMessages {
        HeldMessages(maxByteCount: min(limits.sessionWindow, SessionPreset(options.kind).windowByteCount))
    }

    // MARK: The log

    /// The relay has let the session in: the cursor is now one of its log.
    ///
    /// - Returns: the cursor of before, when the relay has lost what the application has seen.
    mutating func enter(_ opened: Opened) -> RoomCursor? {
        let before = cursor
        let isAnotherLog = before.log != nil && opened.log != nil && before.log != opened.log
        let kept = isAnotherLog ? 0 : opened.head
        cursor = RoomCursor(log: opened.log, offset: min(before.offset, kept))
        if let tail { cursor.offset = max(cursor.offset, opened.head - min(opened.head, UInt64(tail))) }
        tail = nil
        head = opened.head
        delivered = min(delivered, kept)
        read = min(read, kept)
        // A new session is told both again.
        reportedDelivered = 0
        reportedRead = 0
        isOpen = true
        reopenAttempts = 0
        return before.offset > kept ? before : nil
    }

    /// The session is over. The next one is given all pending messages.
    mutating func endSession() {
        session = nil
        isOpen = false
        ledger.withLedger { $0.endSession() }
    }

    /// Begins on a new session.
    mutating func begin(_ session: SessionID) {
        self.session = session
        isHeldBack = false
        isLagging = false
    }

    /// What is done about a message.
    enum Reception {
        /// The application has it already: offsets only rise.
        case repeated
        /// The application has no room for it; it comes again after the cursor, on another session.
        case dropped
        /// It goes to the application.
        case new
    }

    /// A message came.
    ///
    /// - Parameter isFull: whether the application has as much of all rooms as it may.
    mutating func receive(_ offset: UInt64, byteCount: Int, isFull: Bool) -> Reception {
        guard offset > cursor.offset else { return .repeated }
        guard !isLagging, !isFull, !held.isFull else {
            isLagging = true
            return .dropped
        }
        cursor.offset = offset
        held.give(byteCount)
        return .new
    }

    /// Offsets will not come.
    ///
    /// - Returns: those that the application does not know of.
    mutating func skip(_ offsets: ClosedRange<UInt64>) -> ClosedRange<UInt64>? {
        let before = cursor.offset
        // Behind what was dropped a gap says nothing yet.
        guard !isLagging, offsets.upperBound > before else { return nil }
        cursor.offset = offsets.upperBound
        return max(offsets.lowerBound, before + 1)...offsets.upperBound
    }

    /// The application has taken or read messages. What it says of another log than the present one means nothing here.
    mutating func progress(_ mark: Receipt.Mark, upTo progress: RoomCursor) {
        guard progress.log == cursor.log else { return }
        // Where logs have no names the offset may be one of a log that is gone.
        let offset = min(progress.offset, max(head, cursor.offset))
        delivered = max(delivered, offset)
        if mark == .read { read = max(read, offset) }
    }

    /// Messages that are neither accepted nor failed.
    var pendingCount: Int { ledger.withLedger { $0.pendingCount } }
}
