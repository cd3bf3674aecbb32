import MartletLink
import MartletWire

/// The reader of a room: the cursor in its log, the received messages that the application holds, and the receipts for
/// them. It alone decides about a received message and its credit.
///
/// Credit bounds the bytes of one session. When a session ends, its credit is released for its successor, while the
/// application may still hold its messages. A server that resets sessions or loses links could therefore exhaust the
/// memory of an application that takes no messages. The bound of held bytes outlives sessions and links (R-46,
/// Specs/hostile.md row 35).
///
/// | state | a received message | ends |
/// |---|---|---|
/// | receiving | is held, with its credit, until the application takes it | with a message beyond the bound: lagging |
/// | lagging | is dropped; the cursor and the credit stay unchanged, so the server stops | half is taken: `begin` |
struct RoomReader: Sendable {
    /// The result of a received message.
    enum Reception {
        /// The application has received the message before. Its credit is released.
        case repeated
        /// The message will be sent again after the cursor, on another session. Its credit is kept.
        case dropped
        /// The application receives the message. Its credit is held.
        case new
    }

    /// The number of bytes of messages that the application holds and has not consumed, over all links, from which on
    /// further messages are dropped: the window of a session.
    let maxHeldByteCount: Int  // bound
    private(set) var heldByteCount = 0
    private(set) var isLagging = false
    /// The log, and its highest offset that the application has received or that was reported to it as missing.
    private(set) var cursor: RoomCursor
    /// The number of messages before the end of the log at which the first session begins; nil after the relay has
    /// admitted the session, which determines the cursor.
    private(set) var tail: UInt32?
    /// The offset up to which the log has the messages of the previous one; nil if it is the same log.
    private(set) var branch: UInt64?
    /// The room's last offset when the relay last admitted a session, or of a later message of this client. Nil before.
    private var lastOffset: UInt64?
    private var delivered: UInt64 = 0
    private var read: UInt64 = 0
    private var reportedDelivered: UInt64 = 0
    private var reportedRead: UInt64 = 0

    init(_ options: RoomOptions, _ limits: Limits) {
        maxHeldByteCount = min(limits.sessionWindow, SessionPreset(options.kind).windowByteCount)
        cursor = options.cursor
        tail = options.tail
    }

    /// Whether a lagging room can be opened again.
    var mayContinue: Bool { isLagging && heldByteCount <= maxHeldByteCount / 2 }

    // MARK: Sessions

    /// Begins another session after the cursor.
    mutating func begin() {
        isLagging = false
    }

    /// Reports that the relay has admitted the session. The cursor then belongs to its log.
    ///
    /// - Returns: The previous cursor, if it belongs to another log that is a branch of this one, or if the
    ///   relay has lost messages that the application has received.
    mutating func enter(_ opened: Opened) -> RoomCursor? {
        let before = cursor
        let isAnotherLog = before.log != nil && opened.log != nil && before.log != opened.log
        branch = isAnotherLog ? min(opened.upTo ?? 0, opened.head) : nil
        let kept = branch ?? opened.head
        cursor = RoomCursor(log: opened.log, offset: min(before.offset, kept))
        if let tail { cursor.offset = max(cursor.offset, opened.head - min(opened.head, UInt64(tail))) }
        tail = nil
        lastOffset = opened.head
        delivered = min(delivered, kept)
        read = min(read, kept)
        // Both receipts are sent again on a new session.
        reportedDelivered = 0
        reportedRead = 0
        return before.offset > (isAnotherLog ? 0 : kept) ? before : nil
    }

    /// Reports that the relay has accepted messages of this client, which it may not deliver.
    mutating func accepted(upTo offset: UInt64) {
        lastOffset = max(lastOffset ?? 0, offset)
    }

    // MARK: Messages

    /// Reports a received message.
    ///
    /// - Parameter isFull: Whether the application holds the maximum number of bytes of all rooms.
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

    /// Reports offsets that will not be delivered.
    ///
    /// - Returns: The offsets that have not been reported to the application.
    mutating func skip(_ offsets: ClosedRange<UInt64>) -> ClosedRange<UInt64>? {
        let before = cursor.offset
        // After a dropped message, offsets before the gap are still missing.
        guard !isLagging, offsets.upperBound > before else { return nil }
        cursor.offset = offsets.upperBound
        return max(offsets.lowerBound, before + 1)...offsets.upperBound
    }

    /// Reports that the application has taken messages.
    ///
    /// - Returns: The number of their bytes that were held.
    mutating func take(_ byteCount: Int) -> Int {
        let taken = min(byteCount, heldByteCount)
        heldByteCount -= taken
        return taken
    }

    // MARK: Receipts

    /// Reports that the application has taken or read messages. Progress in a different log is ignored. Before the
    /// relay has admitted a session, `enter` bounds the progress in a known log.
    mutating func advance(_ mark: Receipt.Mark, to progress: RoomCursor) {
        guard progress.log == cursor.log else { return }
        // Without log identities the offset may belong to a lost log.
        let end = lastOffset ?? (cursor.log == nil ? 0 : .max)
        let offset = min(progress.offset, max(end, cursor.offset))
        delivered = max(delivered, offset)
        if mark == .read { read = max(read, offset) }
    }

    /// The next receipt to send; nil if there is none. Receipts are cumulative.
    var pendingReceipt: Receipt.Progress? {
        if delivered > max(reportedDelivered, read) { return Receipt.Progress(.delivered, upTo: delivered) }
        return read > reportedRead ? Receipt.Progress(.read, upTo: read) : nil
    }

    /// Reports that a receipt was sent.
    mutating func reported(_ receipt: Receipt.Progress) {
        reportedDelivered = max(reportedDelivered, receipt.upTo)
        if receipt.mark == .read { reportedRead = receipt.upTo }
    }
}
