import Martlet

/// Where a listener begins, and what a replaced log means to it.
///
/// | begins | the relay names another place than the cursor | meaning |
/// |---|---|---|
/// | at a kept cursor | at any time | the relay has lost the log |
/// | at an offset that the user gave | the cursor is that offset and of no log | the offset is beyond the last message |
/// | at an offset that the user gave | the cursor has a log | the relay has lost the log |
struct StartingPoint: Equatable, Sendable {
    /// Where the messages begin.
    let from: Room.Options.From
    /// The offset that the user gave.
    private let givenOffset: UInt64?

    /// The start of a command: the kept cursor, where there is one, and otherwise what the user gave.
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

    /// Whether a replaced cursor is the user's offset, which no log has ever reached.
    func isBeyondEnd(replaced previous: RoomCursor) -> Bool {
        givenOffset != nil && previous.log == nil && previous.offset == givenOffset
    }
}
