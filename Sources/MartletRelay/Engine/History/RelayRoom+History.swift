import MartletLink
import MartletWire

/// Pages of the room's history, which members request. They change neither cursors nor deliveries.
extension RelayRoom {
    /// A request for a page.
    mutating func readHistory(
        _ number: UInt64, _ request: Request, for member: MemberHandle, into effects: inout Deque<RoomEffect>
    ) {
        let query: HistoryQuery
        do throws(WireError) {
            query = try HistoryQuery(parsing: request.content)
        } catch {
            return respond(nil, Response(correlation: number, status: error.operationStatus), into: &effects)
        }
        guard !history.isFull(member) else {
            return respond(nil, Response(correlation: number, status: .tooManyRequests), into: &effects)
        }
        // Offsets of another log mean other messages.
        if let wanted = query.log, let present = log.id, wanted != present {
            return answer(number, with: [], head: log.lastOffset, into: &effects)
        }
        let read = HistoryRead(query, first: log.firstOffset, last: log.lastOffset)
        perform(history.begin(number, read, for: member), number, for: member, into: &effects)
    }

    /// The result of a read for a request; nil when the store failed.
    mutating func historyRead(
        _ number: UInt64, for member: MemberHandle, _ entries: [LogEntry]?, first: UInt64,
        into effects: inout Deque<RoomEffect>
    ) {
        // The request was cancelled, or its member has left.
        guard requests[number]?.from == .member(member) else { return history.end(number, for: member) }
        guard let entries else {
            history.end(number, for: member)
            return respond(nil, Response(correlation: number, status: .storeUnavailable), into: &effects)
        }
        guard let step = history.read(number, for: member, entries, first: first) else { return }
        log.raiseFirstOffset(to: first)
        perform(step, number, for: member, into: &effects)
    }

    private mutating func perform(
        _ step: HistoryRead.Step, _ number: UInt64, for member: MemberHandle, into effects: inout Deque<RoomEffect>
    ) {
        switch step {
        case .read(let range):
            let id = ReadID(member: member, request: number, erasureCount: log.erasureCount)
            var range = range
            range.log = log.id
            effects.append(.store(.read(name, id, range)))
        case .answer(let entries, let head): answer(number, with: entries, head: head, into: &effects)
        }
    }

    private mutating func answer(
        _ number: UInt64, with entries: [LogEntry], head: UInt64, into effects: inout Deque<RoomEffect>
    ) {
        // Messages may have been removed since they were read. The page has none that were stored after its request, so
        // that one without messages may not name them.
        let first = min(log.firstOffset, entries.first?.offset ?? .max)
        let room = Opened(head: head, first: first, log: log.id)
        let content = HistoryPage.content(of: room, messages: entries.map(\.body.bytes))
        respond(nil, Response(correlation: number, content: content), into: &effects)
    }
}
