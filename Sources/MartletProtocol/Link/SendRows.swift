/// The bodies of a session's queued frames, in the rows in which they were queued.
///
/// Messages that all of a room's members get are one array, of which each member's queue holds a part by one reference.
/// A row is let go of when the last of its frames is.
struct SendRows: Sendable {
    struct Row: Sendable {
        /// The sequence of the first frame.
        let first: UInt64
        let bodies: Bodies
    }

    enum Bodies: Sendable {
        case fragments(EncodedBody)
        /// One frame each.
        case messages(ArraySlice<LogEntry>)
    }

    private var rows = Deque<Row>()

    var isEmpty: Bool { rows.isEmpty }
    var count: Int { rows.count }

    subscript(index: Int) -> Row { rows[index] }

    /// Adds a row whose first frame has that sequence, behind all others.
    mutating func append(_ bodies: Bodies, first: UInt64) {
        rows.append(Row(first: first, bodies: bodies))
    }

    /// Which row a frame that is there is in.
    func index(of sequence: UInt64) -> Int {
        var low = 0
        var high = rows.count
        // Mostly what came last is asked for.
        if high > 0, rows[high - 1].first <= sequence { low = high - 1 }
        while high - low > 1 {
            let middle = (low + high) / 2
            if rows[middle].first <= sequence { low = middle } else { high = middle }
        }
        return low
    }

    /// The body that a frame carries, and which of its fragments.
    func body(of sequence: UInt64) -> (body: EncodedBody, fragment: Int) {
        let row = rows[index(of: sequence)]
        let place = Int(sequence - row.first)
        return switch row.bodies {
        case .fragments(let body): (body, place)
        case .messages(let messages): (messages[messages.startIndex + place].body, 0)
        }
    }

    /// Lets go of the rows whose frames all come before `base`; `end` is one past the last frame there is.
    mutating func drop(before base: UInt64, end: UInt64) {
        while !rows.isEmpty, (rows.count > 1 ? rows[1].first : end) <= base { rows.removeFirst(1) }
    }
}
