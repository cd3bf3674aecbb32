import Martlet
public import Observation

/// The conversations of an account, those with the latest entry first, for a view.
///
/// ```swift
/// List(model.rows) { row in
///     NavigationLink(row.value.name.text, value: row.value.name).badge(row.value.unreadCount)
/// }
/// .task { await model.run() }
/// ```
@MainActor @Observable
public final class ConversationListModel {
    /// The maximum number of conversations. Those with the latest entries are kept.
    public nonisolated static let maxCount = 4096
    /// The number of changed rooms beyond which all are read.
    private nonisolated static let maxSingleCount = 32

    /// The conversations in their order. The array changes when the order changes, and an element when its conversation
    /// changes.
    public private(set) var rows: [RowModel<ConversationSummary>] = []
    /// The number of unread messages of all conversations.
    public private(set) var unreadCount = 0
    /// Whether the source was read.
    public private(set) var isLoaded = false
    /// The error of the last reading; nil if it has succeeded.
    public private(set) var failure: ModelError?

    @ObservationIgnored private let source: any ConversationSource
    @ObservationIgnored private let gate: UpdateGate
    @ObservationIgnored private var list = RowList<ConversationSummary>()
    /// The rooms to read in the next pass; nil for all.
    @ObservationIgnored private var changed: Set<RoomName>?

    /// Creates a model of the conversations of a source.
    public convenience init(_ source: any ConversationSource) {
        self.init(source, clock: ContinuousModelClock())
    }

    package init(_ source: any ConversationSource, clock: any ModelClock) {
        self.source = source
        gate = UpdateGate(clock)
    }

    /// Reads the conversations, and publishes each change until the task is cancelled or the source ends: a timeline
    /// when it is closed (`Timeline.close()`). The stop of the client does not end it.
    public func run() async {
        changed = nil
        await follow(source)
    }

    private func follow(_ source: some ConversationSource) async {
        var changes = source.changes.makeAsyncIterator()
        await update()
        while let names = await changes.next(isolation: #isolation) {
            changed?.formUnion(names)
            await update()
        }
    }

    private func update() async {
        await gate.update {
            let names = changed
            changed = []
            do {
                let (changes, unread) = try await Self.read(source, names, list.elements)
                if let rows = list.apply(changes) { self.rows = rows }
                if unread != unreadCount { unreadCount = unread }
                if !isLoaded { isLoaded = true }
                if failure != nil { failure = nil }
            } catch {
                changed = nil
                failure = ModelError(error)
            }
        }
    }

    @concurrent
    private nonisolated static func read(
        _ source: any ConversationSource, _ names: Set<RoomName>?, _ old: [ConversationSummary]
    ) async throws -> (RowChanges<ConversationSummary>, unread: Int) {
        var all: [ConversationSummary]
        if let names, names.count <= maxSingleCount {
            all = old.filter { !names.contains($0.name) }
            for name in names {
                if let summary = try await source.conversation(name) { all.append(summary) }
            }
        } else {
            all = try await source.conversations()
        }
        all.sort { ($0.lastEntry?.time ?? 0, $1.name) > ($1.lastEntry?.time ?? 0, $0.name) }
        let kept = Array(all.prefix(maxCount))
        return (RowChanges(from: old, to: kept), kept.reduce(0) { $0 + $1.unreadCount })
    }
}
