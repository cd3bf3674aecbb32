import MartletLink
import MartletWire

/// The assembly of the list of an account's rooms from pages and updates, in the order in which the relay sent them:
/// what was received last is the latest.
///
/// | state | owns | ends |
/// |---|---|---|
/// | idle | nothing | `begin` |
/// | listing | the entries received so far, the query of the next page | `take` of the last page; `end` |
/// | listed | nothing: later updates are passed on | `begin`, `end` |
struct ClientRoomList: Sendable {
    /// The maximum number of entries of a list, beyond which further pages are not requested (Specs/hostile.md row 82).
    static let maxCount = 4096

    /// The consequence of an event.
    enum Step: Equatable {
        case none
        /// Request a page.
        case request(RoomListQuery)
        /// The list is complete, in the order of the names' bytes.
        case listed([RoomEntry])
        /// An entry has changed since the list was complete.
        case changed(RoomEntry)
    }

    private enum State: Sendable {
        case idle
        case listing(entries: [RoomName: RoomEntry], query: RoomListQuery)
        case listed
    }

    private var state = State.idle

    var isListed: Bool { if case .listed = state { true } else { false } }
    var isIdle: Bool { if case .idle = state { true } else { false } }

    /// The query of the page that is requested; nil if the list is not being assembled.
    var query: RoomListQuery? { if case .listing(_, let query) = state { query } else { nil } }

    /// Begins with the first page.
    mutating func begin() -> RoomListQuery {
        let query = RoomListQuery()
        state = .listing(entries: [:], query: query)
        return query
    }

    /// A page was received.
    mutating func take(_ page: RoomListPage) -> Step {
        guard case .listing(var entries, _) = state else { return .none }
        for entry in page.entries { entries[entry.room] = entry }
        guard page.hasMore, entries.count < Self.maxCount, let last = page.entries.last?.room else {
            state = .listed
            return .listed(entries.values.sorted { $0.room < $1.room })
        }
        let query = RoomListQuery(after: last)
        state = .listing(entries: entries, query: query)
        return .request(query)
    }

    /// An entry was received. A later page may contain it again.
    mutating func take(_ entry: RoomEntry) -> Step {
        switch state {
        case .idle: return .none
        case .listed: return .changed(entry)
        case .listing(var entries, let query):
            if entry.membership == .none {
                entries[entry.room] = nil
            } else if entries[entry.room] != nil || entries.count < Self.maxCount {
                entries[entry.room] = entry
            }
            state = .listing(entries: entries, query: query)
            return .none
        }
    }

    /// The session has ended.
    mutating func end() { state = .idle }
}
