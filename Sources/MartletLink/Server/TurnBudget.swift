/// The work that one connection may cause before the server reads others.
///
/// | state | owns | ends |
/// |---|---|---|
/// | idle | nothing | a connection begins to be read |
/// | counting | its remaining units | they are spent, or the server's turn ends |
/// | spent | nothing: the rest of its input waits in `UnreadInput` | the server's turn ends |
///
/// A unit is the work of a frame without effects on others, or of `bytesPerUnit` bytes of bodies after inflating.
/// Reads of one connection that follow each other in one turn share a budget.
@usableFromInline
package struct TurnBudget {
    /// The number of units of a connection in a turn.
    static let unitCount = 512  // bound
    /// Bytes of bodies, after inflating, that cost one unit beside the unit of their frame.
    package static let bytesPerUnit = 512
    /// The work of the start of a deflate stream, which allocates and loads the dictionary.
    static let streamUnits = 16

    /// Packets that are read between two checks of the budget.
    static let packetsPerCall = 16  // bound

    private var owner: ConnectionKey?
    @usableFromInline var unitsLeft = 0

    package init() {}

    @inlinable @inline(__always)
    package var isSpent: Bool { unitsLeft <= 0 }

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
    package mutating func end() {
        owner = nil
    }

    /// Charges a frame with a body of this many bytes.
    package mutating func charge(frameOf byteCount: Int) {
        unitsLeft -= 1 + byteCount / TurnBudget.bytesPerUnit
    }

    @inlinable @inline(__always)
    package mutating func charge(_ units: Int) {
        unitsLeft -= units
    }
}
