import Martlet
import MartletLink
public import MartletWire

/// Messages that the timeline does not have and the relay keeps. The methods throw the errors of
/// ``Room/messages(before:limit:)`` and ``DatabaseError``.
extension SyncedRoom {
    /// Adds the messages before the first one that the timeline has.
    ///
    /// - Parameter limit: The maximum number of messages, which is brought into the range 1...256.
    /// - Returns: Whether the relay has more messages before them.
    @discardableResult
    nonisolated(nonsending) public func fetchEarlier(limit: Int = 50) async throws -> Bool {
        let earliest = try await timeline.earliest(of: name)
        if let earliest, earliest.offset <= 1 { return false }
        let page = try await room.messages(before: earliest, limit: limit)
        try await apply(page, before: earliest?.offset)
        return page.hasMore
    }

    /// Adds the last messages of a gap.
    ///
    /// - Returns: Whether messages were added. It is false if the entry is not a gap, if the relay no longer has the
    ///   messages, or if the log of the gap was replaced.
    @discardableResult
    nonisolated(nonsending) public func fill(_ gap: TimelineEntry, limit: Int = 50) async throws -> Bool {
        guard case .gap(let offsets) = gap.content, offsets.upperBound < .max else { return false }
        // The relay has the messages of the current log only, which can be others at the same offsets.
        guard let end = try await timeline.cursor(at: offsets.upperBound + 1, of: gap.position.generation, in: name)
        else { return false }
        // The offsets come from the relay and can have any value.
        let size = Int(clamping: offsets.upperBound - offsets.lowerBound)
        let page = try await room.messages(before: end, limit: size < limit ? size + 1 : limit)
        guard page.messages.contains(where: { offsets.contains($0.offset) }) else { return false }
        return try await apply(page, before: end.offset)
    }

    /// Adds the messages from the first one that the relay accepted at or after a time. The timeline shows a gap
    /// between these messages and its other ones.
    ///
    /// - Parameters:
    ///   - time: The time in milliseconds since 1970.
    ///   - limit: The maximum number of messages.
    /// - Returns: The ID of the first message; nil if there is none.
    nonisolated(nonsending) public func fetch(acceptedFrom time: UInt64, limit: Int = 50) async throws -> MessageID? {
        let page = try await room.messages(acceptedFrom: time, limit: limit)
        guard let first = page.messages.first else { return nil }
        return try await apply(page, before: nil) ? first.id : nil
    }

    /// Rebuilds the room from the log: removes its entries, and adds the latest messages of the relay.
    /// ``fetchEarlier(limit:)`` adds earlier messages. Messages that are being sent and the read mark remain.
    ///
    /// The method requires a connection.
    nonisolated(nonsending) public func rebuild(limit: Int = 50) async throws {
        let page = try await room.messages(before: nil, limit: limit)
        try await timeline.clear(name)
        try await apply(page, before: nil)
    }

    /// Whether the relay may have messages of a gap, as far as it has reported its first offset. For a gap of a log
    /// that was replaced it can be true although ``fill(_:limit:)`` adds nothing.
    public func canFill(_ gap: TimelineEntry) -> Bool {
        if case .gap(let offsets) = gap.content { offsets.upperBound >= room.firstOffset } else { false }
    }

    /// - Parameter end: The offset after the page; nil for the one after its last message.
    @discardableResult
    nonisolated(nonsending) private func apply(_ page: Room.Page, before end: UInt64?) async throws -> Bool {
        guard let first = page.messages.first, let last = page.messages.last else { return false }
        // The offsets come from the relay and can have any value.
        let known = max(end ?? 1, 1) - 1
        let part = HistoryPart(messages: page.messages, offsets: first.offset...max(known, last.offset), log: page.log)
        return try await timeline.apply(part, in: name, isModerator: isModerator)
    }
}
