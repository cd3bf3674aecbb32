import MartletProtocol
import MartletTransport

/// How far the application has handled a room's messages: raised by its iteration with every message, read by the loop.
///
/// | state | means | left by |
/// |---|---|---|
/// | unwatched | the loop does not look | a raise, which tells the loop |
/// | watched | the loop looks again within `ClientDriver.cursorDelay` | a look that finds nothing new |
///
/// So a slow application's mark is read at once, and a fast one does not wake the loop for each message.
final class HandledMark: Sendable {
    private struct State: Sendable {
        /// Nil when the loop has it.
        var raisedTo: RoomCursor?
        var isWatched = false
    }

    private let state = Guarded(State())

    var isWatched: Bool { state.withLock { $0.isWatched } }

    /// True when the loop has to be told.
    func raise(to cursor: RoomCursor) -> Bool {
        state.withLock { state in
            state.raisedTo.advance(to: cursor)
            defer { state.isWatched = true }
            return !state.isWatched
        }
    }

    /// How far it was raised since the last look.
    func take() -> RoomCursor? {
        state.withLock { $0.raisedTo.take() }
    }

    /// The same; when it was not raised, the next raise tells the loop.
    func takeOrUnwatch() -> RoomCursor? {
        state.withLock { state in
            if state.raisedTo == nil { state.isWatched = false }
            return state.raisedTo.take()
        }
    }
}
