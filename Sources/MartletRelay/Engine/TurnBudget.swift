import MartletLink

/// The work that one connection may cause before the engine reads others.
///
/// | state | owns | ends |
/// |---|---|---|
/// | idle | nothing | a connection begins to be read |
/// | counting | its remaining units | they are spent, or the engine's turn ends |
/// | spent | nothing: the rest of its input waits in `UnreadInput` | the engine's turn ends |
///
/// A unit is the work of a frame without effects on others, or of `bytesPerUnit` bytes of bodies after inflating.
/// Reads of one connection that follow each other in one turn share a budget.
struct TurnBudget {
    /// The number of units of a connection in a turn.
    static let unitCount = 512  // bound
    /// Bytes of bodies, after inflating, that cost one unit beside the unit of their frame.
    static let bytesPerUnit = 512
    /// The work of a message for the room and its members, beside that of its frame.
    static let messageUnits = 1
    /// The work of a transient frame, which goes to all members of a room.
    static let transientUnits = 16
    /// The work of an operation on a room, which saves all roles of the room (Specs/hostile.md row 58), or of a page of
    /// history, which is read in several steps (Specs/hostile.md row 74).
    static let operationUnits = 64
    /// The work of a request about an attachment, which calls a store (Specs/hostile.md row 85).
    static let attachmentUnits = 8
    /// The work of a join, which reports the other members.
    static let openUnits = 16
    /// The work of the start of a deflate stream, which allocates and loads the dictionary.
    static let streamUnits = 16

    /// Packets that are read between two checks of the budget.
    static let packetsPerCall = 16  // bound

    private var owner: ConnectionKey?
    private var unitsLeft = 0

    var isSpent: Bool { unitsLeft <= 0 }

    /// Starts a read of a connection, which continues with the budget that it has left in this turn.
    mutating func begin(_ connection: ConnectionKey) {
        if owner != connection { restart(connection) }
    }

    /// Starts a read of a connection with a whole budget.
    mutating func restart(_ connection: ConnectionKey) {
        owner = connection
        unitsLeft = TurnBudget.unitCount
    }

    /// Ends the turn.
    mutating func end() {
        owner = nil
    }

    /// Charges a frame with a body of this many bytes.
    @inline(__always)
    mutating func charge(frameOf byteCount: Int) {
        unitsLeft -= 1 + byteCount / TurnBudget.bytesPerUnit
    }

    @inline(__always)
    mutating func charge(_ units: Int) {
        unitsLeft -= units
    }
}
