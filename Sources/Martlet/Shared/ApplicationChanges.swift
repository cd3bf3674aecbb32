import MartletLink
import MartletWire

/// The changes that the application has made to a room and the loop has not taken. Their size is bounded: cursors are
/// cumulative, only the last value of a switch counts, and the oldest transient frames are discarded.
struct ApplicationChanges: Sendable {
    /// The maximum number of queued transient frames.
    static let maxTransients = 64

    struct Transient: Sendable {
        let kind: ContentKind
        let content: [UInt8]
    }

    /// The credit of the messages that the application has taken, in bytes, and the cursor of the last one.
    private(set) var takenByteCount = 0
    private(set) var takenUpTo: RoomCursor?
    private(set) var readUpTo: RoomCursor?
    var isTyping: Bool?
    var isSuspended: Bool?
    private(set) var transients = Deque<Transient>()

    mutating func take(byteCount: Int, upTo cursor: RoomCursor) {
        takenByteCount += byteCount
        takenUpTo.advance(to: cursor)
    }

    mutating func read(upTo cursor: RoomCursor) {
        readUpTo.advance(to: cursor)
    }

    mutating func append(_ transient: Transient) {
        if transients.count >= Self.maxTransients { _ = transients.popFirst() }
        transients.append(transient)
    }
}

extension RoomCursor? {
    /// Advances to a later cursor, or sets the first one.
    mutating func advance(to later: RoomCursor) {
        if self == nil { self = later } else { self!.advance(to: later) }
    }
}
