import MartletWire

/// The reader of a room: the position in its log, the received messages that the application holds, and the receipts
/// for them. It is the one owner of what becomes of a received message and of its credit.
///
/// Credit bounds the bytes of one session. When a session ends, its credit is released for its successor, and the
/// application may still hold its messages. A server that resets sessions or loses links could therefore fill an
/// application that takes no messages. The bound of held bytes outlives sessions and links (R-46, Specs/hostile.md
/// row 35).
///
/// | state | a received message | ends |
/// |---|---|---|
/// | receiving | is held, with its credit, until the application takes it | with a message beyond the bound: lagging |
/// | lagging | is dropped; the cursor stays, and its credit is kept, so that the server stops | half is taken: `begin` |
struct RoomReader: Sendable {
    /// The result of a received message.
    enum Reception {
        /// The application has it already: offsets only rise. Its credit is released.
        case repeated
        /// It will be sent again after the cursor, on another session. Its credit is kept.
        case dropped
        /// The application receives it. Its credit is held.
        case new
    }

    /// Bytes of held messages from which on further messages are dropped.
    let maxHeldByteCount: Int
    private(set) var heldByteCount = 0
    private(set) var isLagging = false
    /// The log, and its highest offset that the application has received or that was reported to it as missing.
    private(set) var cursor: RoomCursor
    /// The number of messages before the log's last with which the first session begins; nil once the relay has
    /// admitted the session, which determines the cursor.
    private(set) var tail: UInt32?
    /// The room's last offset when the relay last admitted a session.
    private var lastOffset: UInt64 = 0
    private var delivered: UInt64 = 0
    private var read: UInt64 = 0
    private var reportedDelivered: UInt64 = 0
    private var reportedRead: UInt64 = 0

    init(_ options: RoomOptions, _ limits: Limits) {
        maxHeldByteCount = min(limits.sessionWindow, SessionPreset(options.kind).windowByteCount)
        cursor = options.cursor
        tail = options.tail
    }

    /// Whether a lagging room may be opened again.
    var mayContinue: Bool { isLagging && heldByteCount <= maxHeldByteCount / 2 }

    // MARK: Sessions

    /// Another session begins after the cursor.
    mutating func begin() {
        isLagging = false
    }

    /// The relay has admitted the session. The cursor is now one of its log.
    ///
    /// - Returns: the previous cursor, when the relay has lost messages that the application has received.
    mutating func enter(_ opened: Opened) -> RoomCursor? {
        let before = cursor
        let isAnotherLog = before.log != nil && opened.log != nil && before.log != opened.log
        let kept = isAnotherLog ? 0 : opened.head
        cursor = RoomCursor(log: opened.log, offset: min(before.offset, kept))
        if let tail { cursor.offset = max(cursor.offset, opened.head - min(opened.head, UInt64(tail))) }
        tail = nil
        lastOffset = opened.head
        delivered = min(delivered, kept)
        read = min(read, kept)
        // A new session is sent both again.
        reportedDelivered = 0
        reportedRead = 0
        return before.offset > kept ? before : nil
    }

    // MARK: Messages

    /// A message arrived.
    ///
    /// - Parameter isFull: whether the application holds as many bytes of all rooms as it may.
    mutating func receive(_ offset: UInt64, byteCount: Int, isFull: Bool) -> Reception {
        guard offset > cursor.offset else { return .repeated }
        guard !isLagging, !isFull, heldByteCount < maxHeldByteCount else {
            isLagging = true
            return .dropped
        }
        cursor.offset = offset
        heldByteCount += byteCount
        return .new
    }

    /// Offsets will not arrive.
    ///
    /// - Returns: those that have not been reported to the application.
    mutating func skip(_ offsets: ClosedRange<UInt64>) -> ClosedRange<UInt64>? {
        let before = cursor.offset
        // After a dropped message a gap proves nothing.
        guard !isLagging, offsets.upperBound > before else { return nil }
        cursor.offset = offsets.upperBound
        return max(offsets.lowerBound, before + 1)...offsets.upperBound
    }

    /// The application has taken messages.
    ///
    /// - Returns: the bytes of them that were held.
    mutating func take(_ byteCount: Int) -> Int {
        let taken = min(byteCount, heldByteCount)
        heldByteCount -= taken
        return taken
    }

    // MARK: Receipts

    /// The application has taken or read messages. Progress in another log than the present one is ignored.
    mutating func advance(_ mark: Receipt.Mark, to progress: RoomCursor) {
        guard progress.log == cursor.log else { return }
        // Without log identities the offset may belong to a lost log.
        let offset = min(progress.offset, max(lastOffset, cursor.offset))
        delivered = max(delivered, offset)
        if mark == .read { read = max(read, offset) }
    }

    /// The receipt to send next. Receipts are cumulative.
    var pendingReceipt: Receipt.Progress? {
        if delivered > max(reportedDelivered, read) { return Receipt.Progress(.delivered, upTo: delivered) }
        return read > reportedRead ? Receipt.Progress(.read, upTo: read) : nil
    }

    /// A receipt was sent.
    mutating func reported(_ receipt: Receipt.Progress) {
        reportedDelivered = max(reportedDelivered, receipt.upTo)
        if receipt.mark == .read { reportedRead = receipt.upTo }
    }
}
