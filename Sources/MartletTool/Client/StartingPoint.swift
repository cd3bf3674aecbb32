import Martlet

/// The start of a listener in the log, and the meaning of a replaced cursor.
///
/// | start | replaced cursor | meaning |
/// |---|---|---|
/// | at a stored cursor | at any time | the relay has lost the log |
/// | at an offset of the user | equals that offset, without a log | the offset is beyond the last message |
/// | at an offset of the user | belongs to a log | the relay has lost the log |
struct StartingPoint: Equatable, Sendable {
    /// The start of the messages.
    let from: Room.Options.From
    /// The offset that the user gave; nil if there is none.
    private let givenOffset: UInt64?

    /// Creates the start of a command: the stored cursor if there is one, otherwise the choice of the user.
    init(_ begin: ListenCommand.Begin, kept: RoomCursor? = nil) {
        if let kept {
            from = .cursor(kept)
            givenOffset = nil
            return
        }
        switch begin {
        case .start:
            from = .start
            givenOffset = nil
        case .latest:
            from = .latest(count: 0)
            givenOffset = nil
        case .cursor(let offset):
            from = .cursor(RoomCursor(offset: offset))
            givenOffset = offset
        }
    }

    /// Returns whether a replaced cursor is the offset of the user, which no log has reached.
    func isBeyondEnd(replaced previous: RoomCursor) -> Bool {
        givenOffset != nil && previous.log == nil && previous.offset == givenOffset
    }
}
