import MartletLink
import MartletWire

/// The reads of the store for one page of a room's history.
///
/// | state | owns | ends |
/// |---|---|---|
/// | searching | the offsets between which the first message of a time is | `read`, when one offset remains |
/// | reading on | the first offset of the page | `read` |
/// | reading back | the last offset of the page, the number of messages to read | `read` that reaches the last offset |
///
/// A search reads one message at a time and halves the offsets. A store reads from a lowest offset and ends at a number
/// of bytes, so a read back that does not reach its last offset is repeated with half the messages. The last offset is
/// that of the log when the request arrived: a message that is not durable is never read.
struct HistoryRead: Sendable {
    /// What follows.
    enum Step: Sendable {
        /// Read these messages; the result is `read`.
        case read(ReadRange)
        /// The messages of the page, and the highest offset of the log that it was read from.
        case answer([LogEntry], head: UInt64)
    }

    private enum State: Sendable {
        case searching(time: UInt64, low: UInt64, high: UInt64)
        case on(from: UInt64)
        case back(to: UInt64, count: UInt64)
    }

    private let limit: UInt64
    private var first: UInt64
    private let last: UInt64
    private var state: State

    /// A page of a log with these offsets. A copy that is behind may have none between them: other relays have stored
    /// messages, and those before the first one are no longer kept.
    init(_ query: HistoryQuery, first: UInt64, last: UInt64) {
        limit = UInt64(query.limit)
        self.first = first
        self.last = last
        switch query.position {
        case .before(let offset): state = .back(to: min(offset - min(offset, 1), last), count: limit)
        case .after(let offset): state = .on(from: min(offset, last) + 1)
        case .acceptedFrom(let time): state = .searching(time: time, low: first, high: max(first, last + 1))
        }
    }

    /// The next step.
    mutating func next() -> Step {
        if case .searching(_, let low, let high) = state {
            let middle = low + (high - low) / 2
            guard low == high else { return .read(ReadRange(from: middle, maxCount: 1, maxByteCount: 1)) }
            state = .on(from: low)
        }
        switch state {
        case .searching(_, let start, _), .on(let start):
            let start = max(start, first)
            guard start <= last else { return .answer([], head: last) }
            return .read(Self.range(from: start, count: min(limit, last - start + 1)))
        case .back(let end, let count):
            guard end >= first else { return .answer([], head: last) }
            let count = min(count, end - first + 1)
            state = .back(to: end, count: count)
            return .read(Self.range(from: end - count + 1, count: count))
        }
    }

    private static func range(from start: UInt64, count: UInt64) -> ReadRange {
        ReadRange(from: start, maxCount: Int(count), maxByteCount: HistoryPage.maxByteCount)
    }

    /// The result of a read, and the next step. `first` is the lowest offset that the store keeps.
    mutating func read(_ entries: [LogEntry], first: UInt64) -> Step {
        self.first = max(self.first, first)
        switch state {
        case .searching(let time, let low, let high):
            // The messages before this one are no longer kept.
            guard let entry = entries.first, entry.offset <= last else { return .answer([], head: last) }
            let middle = low + (high - low) / 2
            state =
                entry.acceptedAt >= time
                ? .searching(time: time, low: low, high: middle)
                : .searching(time: time, low: min(max(entry.offset, middle) + 1, high), high: high)
            return next()
        case .on(let start):
            return .answer(Self.fitting(entries.filter { $0.offset >= start && $0.offset <= last }), head: last)
        case .back(let end, let count):
            let found = entries.filter { $0.offset <= end }
            if found.last?.offset == end { return .answer(Self.fitting(found.reversed()).reversed(), head: last) }
            guard count > 1 else { return .answer([], head: last) }
            state = .back(to: end, count: count / 2)
            return next()
        }
    }

    /// The first messages that fit into a page, at least one.
    private static func fitting(_ entries: [LogEntry]) -> [LogEntry] {
        var byteCount = 0
        let end = entries.firstIndex { entry in
            byteCount += HistoryPage.byteCount(ofMessage: entry.body.byteCount)
            return byteCount > HistoryPage.maxByteCount
        }
        return Array(entries.prefix(max(end ?? entries.count, 1)))
    }
}
