import MartletProtocol
import MartletWire

/// What the application has said to a room since the loop last looked. Everything in it is bounded: marks are
/// cumulative, of wishes the latest counts, of passing words the oldest are dropped.
struct RoomNews: Sendable {
    /// Passing words that wait for the loop, at the most.
    static let maxTransients = 64

    var arriving: [OutgoingQueue.Arriving] = []
    /// Credit of messages that the application has taken, and how far it has.
    var takenByteCount = 0
    var takenUpTo: RoomCursor?
    var readUpTo: RoomCursor?
    var isTyping: Bool?
    var isSuspended: Bool?
    var transients = Deque<Transient>()

    struct Transient: Sendable {
        let kind: ContentKind
        let content: [UInt8]
    }

    mutating func append(_ transient: Transient) {
        if transients.count >= Self.maxTransients { _ = transients.popFirst() }
        transients.append(transient)
    }
}

extension RoomCursor? {
    /// Goes on to a later place, or begins there.
    mutating func advance(to later: RoomCursor) {
        if self == nil { self = later } else { self!.advance(to: later) }
    }
}
