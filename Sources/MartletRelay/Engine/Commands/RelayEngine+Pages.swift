import MartletLink
package import MartletWire

/// Pages of the links, accounts and rooms of one loop, for its administration.
///
/// A page visits a bounded number of places of a table in their order. An object keeps its place, so that it is in one
/// page only.
extension RelayEngine {
    /// The next links from a place on, and the place of the next page; nil if there is none.
    package func linkPage(from place: Int, limit: Int) -> (slots: [Int], next: Int?) {
        TablePage.slots(sessions.links.slots, from: place, limit: limit) { sessions.links.isLive($0) }
    }

    /// The connection of a link; nil if it has none.
    package func connection(ofLink slot: Int) -> ConnectionKey? {
        sessions.links[slot].connection.map { server.key($0) }
    }

    /// The state of a link of a page, with what the driver knows about its connection.
    package func overview(ofLink slot: Int, agent: String?, address: String?, since: UInt64?) -> LinkOverview {
        let queued = sessions.links[slot].link.queued(perFrame: 0)
        return LinkOverview(
            account: sessions.links[slot].who.account, device: sessions.links[slot].who.device, agent: agent,
            address: address, since: since, roundTrip: sessions.links[slot].link.rtt.smoothed,
            queuedByteCount: UInt64(
                queued.attachments + queued.bulk + queued.nonBulk + queued.requests + queued.others),
            sessionCount: UInt32(sessions.relayLinks[slot].sessions.count))
    }

    /// The next accounts that have links.
    package func accountPage(from place: Int, limit: Int) -> (items: [AccountOverview], next: Int?) {
        sessions.relayLinks.accountPage(from: place, limit: limit)
    }

    /// The state of a room of this loop; nil if it is not in memory.
    package mutating func roomOverview(of room: RoomName) -> RoomOverview? { sessions.rooms.local.overview(of: room) }

    /// The next rooms in memory.
    package func roomPage(from place: Int, limit: Int) -> (items: [RoomOverview], next: Int?) {
        sessions.rooms.local.page(from: place, limit: limit)
    }
}

/// The places of a table that a page visits.
enum TablePage {
    /// The maximum number of places that a page visits.
    static let maxVisitedCount = 1_024

    /// Returns the first used places, and the place of the next page; nil if the table has no further places.
    static func slots(
        _ slots: Range<Int>, from first: Int, limit: Int, where isUsed: (Int) -> Bool
    ) -> (slots: [Int], next: Int?) {
        var found: [Int] = []
        var slot = max(first, slots.lowerBound)
        let end = min(slots.upperBound, slot.addingReportingOverflow(maxVisitedCount).partialValue)
        while slot < end, found.count < limit {
            if isUsed(slot) { found.append(slot) }
            slot += 1
        }
        return (found, slot < slots.upperBound ? slot : nil)
    }
}
