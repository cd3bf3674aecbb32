import Martlet
import MartletDatabase
import MartletLink
import MartletRelay
import MartletSimulator
import MartletTimeline
import MartletWire

/// The timeline of a device in `martlet-lab lives`, in a temporary folder.
final class LifeTimelineFile: LifeTimeline, @unchecked Sendable {  // used by the thread that runs the world
    private let folder = SimulationFolder()
    private let account: AccountName
    private var timeline: Timeline?
    private var sync: TimelineSync?

    init(_ account: AccountName) {
        self.account = account
    }

    /// Calls after the end of a client find no timeline.
    private func present() throws -> (Timeline, TimelineSync) {
        guard let timeline, let sync else { throw CancellationError() }
        return (timeline, sync)
    }

    private func room(_ name: RoomName) throws -> SyncedRoom {
        guard let room = try present().1.rooms.first(where: { $0.name == name }) else { throw CancellationError() }
        return room
    }

    func begin(_ client: Client) async throws {
        let timeline = try await Timeline(path: folder.file("timeline"), account: account, isInline: true)
        var options = TimelineSync.Options()
        options.initialMessageCount = nil
        self.timeline = timeline
        sync = TimelineSync(client, timeline, options: options)
    }

    func run() async throws {
        let sync = try present().1
        try await Self.untilClosed { try await sync.run() }
    }

    func open(_ room: RoomName) async throws -> Room {
        let sync = try present().1
        return try await Self.untilClosed { try await sync.open(room: room).room }
    }

    func send(_ message: OutgoingMessage, in room: RoomName) async throws -> MessageID {
        let room = try self.room(room)
        return try await Self.untilClosed { try await room.send(message) }
    }

    func markRead(_ room: RoomName) async throws {
        let (timeline, room) = (try present().0, try self.room(room))
        try await Self.untilClosed {
            guard let last = try await timeline.page(of: room.name).last(where: { $0.state == .accepted }) else {
                return
            }
            try await room.markRead(upTo: last)
        }
    }

    func cursor(of room: RoomName) async throws -> RoomCursor? {
        try await present().0.cursor(of: room)
    }

    /// The file is closed when the client has ended, while other calls may be in progress.
    private static func untilClosed<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch DatabaseError.closed { throw CancellationError() }
    }

    func end() async {
        sync = nil
        await timeline?.close()
        timeline = nil
    }

    // MARK: - View

    func view(of room: RoomName) async throws -> LifeTimelineView {
        let timeline = try present().0
        var entries = try await timeline.page(of: room, limit: Timeline.maxPageCount)
        while let first = entries.first?.position {
            let page = try await timeline.page(of: room, before: first, limit: Timeline.maxPageCount)
            if page.isEmpty { break }
            entries = page + entries
        }
        let start = entries.lastIndex { $0.content == .logReplaced }.map { $0 + 1 } ?? 0
        let listed = try await timeline.room(room)
        return LifeTimelineView(
            entries: entries[start...].compactMap(Self.entry),
            earlier: Dictionary(
                entries[..<start].compactMap { entry in entry.message.map { ($0, entry.offset ?? 0) } },
                uniquingKeysWith: { $1 }),
            hasGaps: entries[start...].contains { if case .gap = $0.content { true } else { false } },
            unreadCount: try await timeline.unreadCount(of: room), membership: listed?.membership,
            lastText: listed?.lastEntry?.text)
    }

    /// Nil for an entry that is neither a text nor a reply.
    private static func entry(_ entry: TimelineEntry) -> LifeTimelineView.Entry? {
        guard let id = entry.message else { return nil }
        switch entry.content {
        case .message(.text), .message(.reply), .deleted: break
        case .message, .damaged, .gap, .logReplaced: return nil
        }
        let failure: String? = if case .failed(let failure) = entry.state { failure.key } else { nil }
        return LifeTimelineView.Entry(
            id: id, offset: entry.state == .accepted ? entry.offset : nil, text: entry.text,
            reactions: Set(entry.reactions.map { "\($0.text) \($0.count)" }), failure: failure)
    }
}
