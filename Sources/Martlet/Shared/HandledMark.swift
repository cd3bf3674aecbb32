import MartletLink

/// The cursor up to which the application has handled a room's messages.
///
/// | state | meaning | left by |
/// |---|---|---|
/// | unwatched | the loop does not poll the mark | `raise`, which requires a notification of the loop |
/// | watched | the loop polls the mark within `ClientDriver.cursorDelay` | `takeOrUnwatch` without a raise before it |
///
/// The loop receives the cursor of a slow application at once. A fast application does not wake the loop for each
/// message.
struct HandledMark: Sendable {
    private(set) var isWatched = false
    /// Nil if the loop has taken the cursor.
    private var raisedTo: RoomCursor?

    /// Raises the mark; true if the caller must notify the loop.
    mutating func raise(to cursor: RoomCursor) -> Bool {
        raisedTo.advance(to: cursor)
        defer { isWatched = true }
        return !isWatched
    }

    /// Removes the cursor to which the mark was raised since the last poll.
    mutating func take() -> RoomCursor? {
        raisedTo.take()
    }

    /// Like `take`. If there is no cursor, the next raise requires a notification of the loop.
    mutating func takeOrUnwatch() -> RoomCursor? {
        if raisedTo == nil { isWatched = false }
        return raisedTo.take()
    }
}
