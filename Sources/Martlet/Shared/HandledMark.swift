import MartletProtocol

/// How far the application has handled a room's messages.
///
/// | state | meaning | left by |
/// |---|---|---|
/// | unwatched | the loop does not look | `raise`, which has the loop notified |
/// | watched | the loop looks again within `ClientDriver.cursorDelay` | `takeOrUnwatch` without a raise before it |
///
/// The loop sees a slow application's cursor at once. A fast application does not wake the loop for each message.
struct HandledMark: Sendable {
    private(set) var isWatched = false
    /// Nil when the loop has it.
    private var raisedTo: RoomCursor?

    /// Raises the mark; true when the loop has to be notified.
    mutating func raise(to cursor: RoomCursor) -> Bool {
        raisedTo.advance(to: cursor)
        defer { isWatched = true }
        return !isWatched
    }

    /// The cursor to which the mark was raised since the last look.
    mutating func take() -> RoomCursor? {
        raisedTo.take()
    }

    /// The same. When there is none, the next raise has the loop notified.
    mutating func takeOrUnwatch() -> RoomCursor? {
        if raisedTo == nil { isWatched = false }
        return raisedTo.take()
    }
}
