/// The work that one connection may cause before other connections have their turn.
///
/// | state | owns | ends |
/// |---|---|---|
/// | idle | nothing | a connection begins to be read |
/// | counting | the units that are left to it | they are spent, or the engine's turn ends |
/// | spent | nothing: the rest of its input waits in `UnreadInput` | the engine's turn ends |
///
/// A unit is the work of a frame without effects on others, or of `bytesPerUnit` bytes of bodies after inflating.
/// Reads of one connection that follow each other in one turn share a budget.
struct TurnBudget {
    /// Units of one connection in one turn.
    static let unitCount = 512
    /// Bytes of bodies, after inflating, that cost one unit beside that of their frame.
    static let bytesPerUnit = 512
    /// A message costs the room and its members more than its reading.
    static let messageUnits = 1
    /// A transient frame goes to all members of a room.
    static let transientUnits = 16
    /// A member that joins is told of the others.
    static let openUnits = 16
    /// A deflate stream that begins takes its memory and its dictionary.
    static let streamUnits = 16

    /// Packets that are read between two looks at the budget.
    static let packetsPerCall = 16

    private var owner: ConnectionKey?
    private var unitsLeft = 0

    var isSpent: Bool { unitsLeft <= 0 }

    /// A connection is read; it has what it has not used of its budget in this turn.
    mutating func begin(_ connection: ConnectionKey) {
        if owner != connection { beginAnew(connection) }
    }

    /// The connection has a whole budget again.
    mutating func beginAnew(_ connection: ConnectionKey) {
        owner = connection
        unitsLeft = TurnBudget.unitCount
    }

    /// The turn ends, and with it what everybody has used.
    mutating func end() {
        owner = nil
    }

    /// A frame with so many bytes of body costs.
    @inline(__always)
    mutating func charge(frameOf byteCount: Int) {
        unitsLeft -= 1 + byteCount / TurnBudget.bytesPerUnit
    }

    @inline(__always)
    mutating func charge(_ units: Int) {
        unitsLeft -= units
    }
}
