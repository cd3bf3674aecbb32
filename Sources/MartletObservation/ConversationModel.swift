public import Martlet
public import MartletTimeline
public import Observation

/// A conversation, for a view: a window of its entries, its marks, and the commands of the user.
///
/// The window has at most ``maxEntryCount`` entries, whatever the length of the conversation. A message keeps its row
/// when it is accepted or sent again. All files are read on other threads; the main actor only receives the changes, at
/// most 60 times a second.
///
/// ```swift
/// struct ConversationView: View {
///     @State var model: ConversationModel
///     @State private var draft = ""
///
///     var body: some View {
///         List {
///             if model.hasEarlier { ProgressView().task { await model.loadEarlier() } }
///             ForEach(model.rows) { row in EntryView(row: row) }
///         }
///         TextField("Message", text: $draft)
///             .onSubmit { Task { if await model.send(draft) != nil { draft = "" } } }
///             .task { await model.run() }
///     }
/// }
///
/// struct EntryView: View {
///     let row: RowModel<TimelineEntry>
///
///     var body: some View {
///         if case .message(.text(let text)) = row.value.content { Text(text) }
///     }
/// }
/// ```
///
/// Commands do not throw: ``failure`` is the error of the last failed command.
@MainActor @Observable
public final class ConversationModel {
    /// The entries of the window in ascending order. The array changes when entries are added, removed or moved, and an
    /// element when its entry changes.
    public private(set) var rows: [RowModel<TimelineEntry>] = []
    /// Whether there may be entries above the window, in the timeline or at the relay.
    public private(set) var hasEarlier = false
    /// Whether there are entries below the window. Otherwise it follows the end of the conversation.
    public private(set) var hasLater = false
    /// Whether the window was read.
    public private(set) var isLoaded = false
    /// Whether ``loadEarlier()`` is in progress.
    public internal(set) var isLoadingEarlier = false
    /// The number of unread messages of other accounts (M-27), at most `RoomSummary.maxUnreadCount`.
    public private(set) var unreadCount = 0
    /// The highest offset that a device of another account has received.
    public private(set) var deliveredOffset: UInt64 = 0
    /// The highest offset that another account has read.
    public private(set) var readOffset: UInt64 = 0
    /// The other accounts that are typing, sorted by name.
    public private(set) var typing: [AccountName] = []
    /// The error of the last command that has failed, until ``clearFailure()``.
    public internal(set) var failure: ModelError?

    /// The name of the room.
    public nonisolated let name: RoomName
    /// The maximum number of entries of the window, at most `Timeline.maxPageCount`.
    public var maxEntryCount: Int { window.maxEntryCount }  // bound

    @ObservationIgnored let sync: TimelineSync
    @ObservationIgnored let clock: any ModelClock
    @ObservationIgnored var window: EntryWindow
    @ObservationIgnored var reports = TypingReports()
    @ObservationIgnored private let gate: UpdateGate
    @ObservationIgnored private var list = RowList<TimelineEntry>()
    @ObservationIgnored private var room: Room?
    /// Whether a task of `run` follows the room, or opens it.
    @ObservationIgnored private var isFollowing = false

    /// Creates a model of a room, which `run` and the commands open.
    ///
    /// - Parameters:
    ///   - room: The name of the room.
    ///   - sync: The synchronization of the account.
    ///   - pageCount: The number of entries of a page, at least 1.
    ///   - maxEntryCount: The maximum number of entries of the window, which is brought into the range from two pages
    ///     to `Timeline.maxPageCount`.
    public convenience init(of room: RoomName, in sync: TimelineSync, pageCount: Int = 50, maxEntryCount: Int = 300) {
        self.init(
            of: room, in: sync, pageCount: pageCount, maxEntryCount: maxEntryCount, clock: ContinuousModelClock())
    }

    package init(
        of room: RoomName, in sync: TimelineSync, pageCount: Int = 50, maxEntryCount: Int = 300, clock: any ModelClock
    ) {
        name = room
        self.sync = sync
        self.clock = clock
        window = EntryWindow(pageCount: pageCount, maxEntryCount: maxEntryCount)
        gate = UpdateGate(clock)
    }

    /// The entries of the window.
    var shown: [TimelineEntry] { list.elements }

    // MARK: Updates

    /// Reads the window, and publishes each change until the task is cancelled or the timeline is closed
    /// (`Timeline.close()`). The stop of the client does not end it. The end of the room does not end it either: the
    /// model follows the room again when a command has opened it.
    public func run() async {
        isFollowing = true
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.openAndFollow() }
            var changes = sync.timeline.changes.makeAsyncIterator()
            await update()
            while let names = await changes.next(isolation: #isolation) {
                guard names.contains(name) else { continue }
                if !isFollowing, let room = openRoom {
                    isFollowing = true
                    group.addTask { await self.follow(room) }
                }
                await update()
            }
            group.cancelAll()
        }
    }

    /// The room, if it is currently open.
    var openRoom: Room? { sync.rooms.first { $0.name == name && !$0.room.hasEnded }?.room }

    private func openAndFollow() async {
        do {
            await follow(try await sync.open(room: name).room)
        } catch {
            isFollowing = false
            note(error)
        }
    }

    /// Publishes the states of a room, and of the one that has replaced it meanwhile.
    private func follow(_ room: Room) async {
        var next: Room? = room
        while let room = next {
            self.room = room
            for await _ in room.snapshots { await update() }
            next = Task.isCancelled ? nil : openRoom
        }
        isFollowing = false
        await update()
    }

    /// Reads the window and publishes its changes.
    func update() async {
        await gate.update {
            let request = window.request(name)
            do {
                let state = try await ConversationState.read(request, sync, room, list.elements)
                publish(state, request)
            } catch {
                note(error)
            }
        }
    }

    private func publish(_ state: ConversationState, _ request: WindowRequest) {
        if let rows = list.apply(state.changes) { self.rows = rows }
        // If a command has moved the window meanwhile, the next pass shows it.
        if window.request(name) == request { window.show(state.window) }
        if state.hasEarlier != hasEarlier { hasEarlier = state.hasEarlier }
        if state.window.hasLater != hasLater { hasLater = state.window.hasLater }
        if state.window.unreadCount != unreadCount { unreadCount = state.window.unreadCount }
        if state.deliveredOffset != deliveredOffset { deliveredOffset = state.deliveredOffset }
        if state.readOffset != readOffset { readOffset = state.readOffset }
        if state.typing != typing { typing = state.typing }
        if !isLoaded { isLoaded = true }
    }

    func note(_ error: any Error) {
        if let error = ModelError(error) { failure = error }
    }

    /// Removes the error.
    public func clearFailure() {
        failure = nil
    }
}
