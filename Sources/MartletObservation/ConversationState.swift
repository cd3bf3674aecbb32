import Martlet
import MartletTimeline

/// The state of a conversation at one instant, with the differences to the published one.
struct ConversationState: Sendable {
    let window: TimelineWindow
    let changes: RowChanges<TimelineEntry>
    let hasEarlier: Bool
    let deliveredOffset: UInt64
    let readOffset: UInt64
    let typing: [AccountName]

    /// Reads the state on another thread than the main one.
    @concurrent
    static func read(
        _ request: WindowRequest, _ sync: TimelineSync, _ room: Room?, _ shown: [TimelineEntry]
    ) async throws -> ConversationState {
        let window = try await sync.timeline.window(request)
        let snapshot = room?.snapshot
        let own = sync.client.account
        let marks = (snapshot?.marks ?? [:]).filter { $0.key != own }.values
        // Nobody reports the end of typing in a room that has ended.
        let members = room?.hasEnded == true ? [] : snapshot?.members ?? []
        // The relay may have messages before the first known one.
        let hasEarlierAtRelay = window.earliest.map { $0.offset > max(snapshot?.firstOffset ?? 0, 1) } ?? false
        return ConversationState(
            window: window, changes: RowChanges(from: shown, to: window.entries),
            hasEarlier: window.hasEarlier || hasEarlierAtRelay,
            deliveredOffset: marks.map(\.delivered).max() ?? 0, readOffset: marks.map(\.read).max() ?? 0,
            typing: members.filter { $0.isTyping && $0.account != own }.map(\.account))
    }
}
