import MartletLink
import MartletWire

/// The items that a room has received and the application has not taken.
///
/// Messages are bounded by the session's credit, which is returned when they are taken. Gaps and replaced logs use no
/// credit. Adjacent gaps are merged, and a gap beyond `maxWaitingGaps` is merged into the last one. A replaced log
/// supersedes the gaps and replaced logs after the last message (Specs/hostile.md row 34).
struct Inbox: Sendable {
    /// The maximum number of queued gaps.
    static let maxWaitingGaps = 256
    /// The maximum number of items for which storage is retained after a burst.
    static let maxKeptItemCount = 256

    enum Item: Sendable {
        case message(RoomMessage, creditByteCount: Int)
        case gap(ClosedRange<UInt64>, of: LogID? = nil)
        case logReplaced(previous: RoomCursor, current: RoomCursor)

        /// The cursor of a reader that has handled the item.
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
    /// The cursor of the last item that an ended iteration returned and that does not count as handled yet.
    private var lastReturned: RoomCursor?
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
        // The offsets come from a peer and can have any value.
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

    /// Exchanges the items for an empty array, whose storage is reused unless it is large.
    mutating func take(leaving empty: inout [Item]) {
        if empty.capacity > Self.maxKeptItemCount { empty = [] }
        swap(&items, &empty)
        gapCount = 0
    }

    /// Inserts the remaining items of an ended iteration at the front of the queue, and records the cursor of the last
    /// returned one.
    mutating func putBack(_ rest: ArraySlice<Item>, lastReturned cursor: RoomCursor?) {
        items.insert(contentsOf: rest, at: 0)
        if let cursor { lastReturned.advance(to: cursor) }
    }

    /// Removes the cursor of the last item that an ended iteration returned. The item counts as handled when the next
    /// iteration requests an item.
    mutating func takeLastReturned() -> RoomCursor? {
        lastReturned.take()
    }

    mutating func removeAll() {
        items = []
    }
}
