import MartletProtocol
import MartletWire

/// What the application has asked of a room since the loop looked last. Its size is bounded: cursors are cumulative, of
/// switches the last one counts, and of transient frames the oldest are dropped.
struct PendingChanges: Sendable {
    /// Transient frames that wait for the loop, at the most.
    static let maxTransients = 64

    struct Transient: Sendable {
        let kind: ContentKind
        let content: [UInt8]
    }

    /// Credit of the messages that the application has taken, in bytes, and the cursor of the last.
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
    /// Goes on to a later position, or begins there.
    mutating func advance(to later: RoomCursor) {
        if self == nil { self = later } else { self!.advance(to: later) }
    }
}
