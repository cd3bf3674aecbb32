import MartletWire

/// What a room has received and the application has not taken.
///
/// Messages are bounded by the session's credit, which goes back when they are taken; gaps cost no credit and are
/// therefore merged when more than `maxWaitingGaps` wait.
struct Inbox: Sendable {
    /// Gaps that wait, at the most.
    static let maxWaitingGaps = 256
    /// Items for which storage is kept; after a burst of more it is given back.
    static let maxKeptItemCount = 256

    enum Item: Sendable {
        case message(RoomMessage, creditByteCount: Int)
        case gap(ClosedRange<UInt64>)

        var offset: UInt64 {
            switch self {
            case .message(let message, _): message.offset
            case .gap(let offsets): offsets.upperBound
            }
        }

        var creditByteCount: Int {
            if case .message(_, let byteCount) = self { byteCount } else { 0 }
        }
    }

    private(set) var items: [Item] = []
    private var gapCount = 0
    private(set) var skippedMessages: UInt64 = 0

    mutating func append(_ arrivals: [Item]) {
        for item in arrivals {
            guard case .gap(let offsets) = item else {
                items.append(item)
                continue
            }
            skippedMessages &+= offsets.upperBound - offsets.lowerBound + 1
            append(gap: offsets)
        }
    }

    private mutating func append(gap offsets: ClosedRange<UInt64>) {
        if case .gap(let last)? = items.last,
            gapCount >= Self.maxWaitingGaps || last.upperBound + 1 == offsets.lowerBound
        {
            items[items.count - 1] = .gap(last.lowerBound...max(last.upperBound, offsets.upperBound))
        } else {
            items.append(.gap(offsets))
            gapCount += 1
        }
    }

    /// All there is, in exchange for an empty array whose storage is used again, unless it is large.
    mutating func take(leaving spare: inout [Item]) {
        if spare.capacity > Self.maxKeptItemCount { spare = [] }
        swap(&items, &spare)
        gapCount = 0
    }

    /// What was taken and not handed out comes back to the front.
    mutating func giveBack(_ rest: ArraySlice<Item>) {
        items.insert(contentsOf: rest, at: 0)
    }

    mutating func removeAll() {
        items = []
    }
}
