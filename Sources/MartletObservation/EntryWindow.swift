import Martlet
import MartletTimeline

/// The part of a room that a conversation shows. It has a bounded number of entries, whatever the length of the room.
///
/// | state | left by |
/// |---|---|
/// | latest: the last page of the room | the first entries, to following |
/// | following: from an entry to the end of the room | `extendEarlier` beyond the bound, `show`: fixed |
/// | fixed: between two entries | `extendLater` to the end of the room: following; `showEnd`: latest |
struct EntryWindow {
    let pageCount: Int
    let maxEntryCount: Int
    private var first: WindowRequest.Anchor?
    private var last: WindowRequest.Anchor?

    init(pageCount: Int, maxEntryCount: Int) {
        self.pageCount = max(pageCount, 1)
        self.maxEntryCount = min(max(maxEntryCount, 2 * self.pageCount), Timeline.maxPageCount)
    }

    func request(_ room: RoomName) -> WindowRequest {
        WindowRequest(room: room, first: first, last: last, limit: first == nil ? pageCount : maxEntryCount)
    }

    /// Reports the entries of the request.
    mutating func show(_ window: TimelineWindow) {
        first = window.entries.first.map { WindowRequest.Anchor($0) }
        last = window.hasLater ? window.entries.last.map { WindowRequest.Anchor($0) } : nil
    }

    /// Adds a page above the entries. Beyond the bound, entries at the end are left out.
    mutating func extendEarlier(_ page: [TimelineEntry], shown: [TimelineEntry]) {
        guard let earliest = page.first else { return }
        first = WindowRequest.Anchor(earliest)
        if shown.count + page.count > maxEntryCount { last = last ?? shown.last.map { WindowRequest.Anchor($0) } }
    }

    /// Adds a page below the entries. Beyond the bound, entries at the start are left out.
    mutating func extendLater(_ page: [TimelineEntry], shown: [TimelineEntry]) {
        guard let latest = page.last else { return }
        let surplus = shown.count + page.count - maxEntryCount
        if surplus > 0 { first = WindowRequest.Anchor((shown + page)[surplus]) }
        last = WindowRequest.Anchor(latest)
    }

    /// Shows entries at another place.
    mutating func show(_ entries: [TimelineEntry]) {
        first = entries.first.map { WindowRequest.Anchor($0) }
        last = entries.last.map { WindowRequest.Anchor($0) }
    }

    /// Shows the last page of the room.
    mutating func showEnd() {
        first = nil
        last = nil
    }
}
