import Martlet
import MartletLink
import MartletWire

/// The record of every request for a page of history. It checks that the messages of a page are those of the log.
struct HistoryLedger {
    private struct Pending {
        var query: HistoryQuery
        var room: RoomName
        /// The log, and the number of its messages, when the request was sent.
        var log: LogID
        var count: UInt64
    }

    /// Whether the relays share a store, so that the copy of a relay may end before the log.
    private let isShared: Bool
    private var pending: [RequestLedger.Key: Pending] = [:]
    /// The number of pages with messages.
    private(set) var pageCount = 0

    init(isShared: Bool = false) { self.isShared = isShared }

    /// Records a request. `count` is the number of messages of the log.
    mutating func sent(_ key: RequestLedger.Key, _ query: HistoryQuery, in room: RoomName, _ log: LogID, count: Int) {
        pending[key] = Pending(query: query, room: room, log: log, count: UInt64(count))
    }

    /// The room of a request that has no outcome; nil for another request.
    func room(of key: RequestLedger.Key) -> RoomName? { pending[key]?.room }

    /// The fault of an outcome, if any; nil for another request.
    mutating func ended(
        _ key: RequestLedger.Key, _ outcome: RequestOutcome, _ logs: RoomLogs
    ) -> (fault: String?, isKnown: Bool) {
        guard var request = pending.removeValue(forKey: key) else { return (nil, false) }
        guard case .answered(.none, _, let content, _) = outcome else { return (nil, true) }
        do throws(WireError) {
            let page = try HistoryPage(parsing: content, answering: request.query)
            if page.offsets != nil { pageCount += 1 }
            guard let id = page.log, logs.branch(of: id, in: request.room) != nil else {
                return ("a page of \(request.room) has no log", true)
            }
            let log = logs.entries(of: id, in: request.room).map(\.stored)
            if isShared {
                request.count = min(request.count, page.head)
                // Times of several relays do not ascend, so a search by time finds any of the places.
                let times = zip(log, log.dropFirst())
                if case .acceptedFrom = request.query.position, times.contains(where: { $0.acceptedAt > $1.acceptedAt })
                {
                    return (nil, true)
                }
            }
            let fault = fault(of: page, request, log)
            return (fault.map { "\(request.query.position) of \(request.room): \($0)" }, true)
        } catch {
            return ("a page of \(request.room) is not valid: \(error)", true)
        }
    }

    private func fault(of page: HistoryPage, _ request: Pending, _ log: [LogEntry]) -> String? {
        guard let offsets = page.offsets else { return faultOfEmpty(page, request, log) }
        guard page.head <= UInt64(log.count), page.messages.count == offsets.count else {
            return "messages are missing"
        }
        for (message, offset) in zip(page.messages, offsets) {
            let entry = log[Int(offset - 1)]
            guard message.relay?.offset == offset, message.encode() == entry.body.bytes else {
                return "message \(offset) is not that of the log"
            }
        }
        switch request.query.position {
        case .before(let offset):
            // Messages may have been added since.
            let least = page.log == request.log ? min(offset - 1, request.count) : 0
            return offsets.upperBound >= least ? nil : "ends at \(offsets)"
        case .after(let offset): return offsets.lowerBound == max(offset + 1, page.first) ? nil : "begins at \(offsets)"
        case .acceptedFrom(let time):
            let isLate = log[Int(offsets.lowerBound - 1)].acceptedAt >= time
            let isFirst = offsets.lowerBound == page.first || log[Int(offsets.lowerBound - 2)].acceptedAt < time
            return isLate && isFirst ? nil : "begins at \(offsets)"
        }
    }

    /// A page is empty if the log had no such messages when it was requested.
    private func faultOfEmpty(_ page: HistoryPage, _ request: Pending, _ log: [LogEntry]) -> String? {
        guard page.log == request.log, request.count >= page.first, request.count > 0 else { return nil }
        guard request.count <= log.count else { return "is of a log that has lost messages" }
        let newest = log[Int(request.count - 1)]
        let hasMessages =
            switch request.query.position {
            case .before(let offset): offset > page.first
            case .after(let offset): offset < newest.offset
            case .acceptedFrom(let time): newest.acceptedAt >= time
            }
        let isOfLog = request.query.log == nil || request.query.log == page.log
        return hasMessages && isOfLog ? "is empty, with messages \(page.first) to \(newest.offset)" : nil
    }
}
