import MartletProtocol
import MartletWire

/// What a room has received and the application has not taken.
///
/// Messages are bounded by the session's credit, which goes back when they are taken. Gaps and replaced logs cost no
/// credit: gaps are merged when more than `maxWaitingGaps` wait, and a log that was replaced takes the place of all
/// that follows the last message (Specs/hostile.md row 34).
struct Inbox: Sendable {
    /// Gaps that wait, at the most.
    static let maxWaitingGaps = 256
    /// Items for which storage is kept; after a burst of more it is given back.
    static let maxKeptItemCount = 256

    enum Item: Sendable {
        case message(RoomMessage, creditByteCount: Int)
        case gap(ClosedRange<UInt64>, of: LogID? = nil)
        case logReplaced(previous: RoomCursor, current: RoomCursor)

        /// Where a reader is that has dealt with it.
        var cursor: RoomCursor {
            switch self {
            case .message(let message, _): message.cursor
            case .gap(let offsets, let log): RoomCursor(log: log, offset: offsets.upperBound)
            case .logReplaced(_, let current): current
            }
        }

        var creditByteCount: Int {
            if case .message(_, let byteCount) = self { byteCount } else { 0 }
        }
    }

    private(set) var items: [Item] = []
    /// The item that an iteration had in hand when it ended.
    private var inHand: RoomCursor?
    private var gapCount = 0
    private(set) var skippedMessages: UInt64 = 0

    mutating func append(_ arrivals: [Item]) {
        for item in arrivals {
            switch item {
            case .message: items.append(item)
            case .gap(let offsets, let log): append(gap: offsets, of: log)
            case .logReplaced(let previous, let current): append(logReplaced: previous, current)
            }
        }
    }

    private mutating func append(gap offsets: ClosedRange<UInt64>, of log: LogID?) {
        // Offsets are a peer's numbers, up to the highest that there is.
        skippedMessages = skippedMessages.addingSaturating(offsets.offsetCount)
        if case .gap(let last, _)? = items.last,
            gapCount >= Self.maxWaitingGaps || last.upperBound == offsets.lowerBound - 1
        {
            items[items.count - 1] = .gap(last.lowerBound...max(last.upperBound, offsets.upperBound), of: log)
        } else {
            items.append(.gap(offsets, of: log))
            gapCount += 1
        }
    }

    private mutating func append(logReplaced previous: RoomCursor, _ current: RoomCursor) {
        var first = previous
        while let last = items.last {
            if case .message = last { break }
            if case .logReplaced(let earlier, _) = last { first = earlier }
            items.removeLast()
        }
        items.append(.logReplaced(previous: first, current: current))
    }

    /// All there is, in exchange for an empty array whose storage is used again, unless it is large.
    mutating func take(leaving empty: inout [Item]) {
        if empty.capacity > Self.maxKeptItemCount { empty = [] }
        swap(&items, &empty)
        gapCount = 0
    }

    /// Puts items that were taken and not handed out back to the front.
    mutating func putBack(_ rest: ArraySlice<Item>, inHand cursor: RoomCursor) {
        items.insert(contentsOf: rest, at: 0)
        inHand.advance(to: cursor)
    }

    /// The item that an iteration had in hand when it ended; the next iteration shows that it was handled.
    mutating func takeInHand() -> RoomCursor? {
        inHand.take()
    }

    mutating func removeAll() {
        items = []
    }
}
