import Martlet
public import MartletTimeline
public import Observation

/// The messages of the open rooms that the relay has not accepted, for a view.
@MainActor @Observable
public final class OutboxModel {
    /// The maximum number of messages in ``rows``. The counts include the others.
    public nonisolated static let maxRowCount = 1000

    /// The messages by room: those that are being sent, then those that have failed.
    public private(set) var rows: [RowModel<UnsentMessage>] = []
    /// The number of messages that are being sent.
    public private(set) var pendingCount = 0
    /// The number of messages that have failed.
    public private(set) var failedCount = 0
    /// The error of the last command that has failed, until ``clearFailure()``.
    public private(set) var failure: ModelError?

    @ObservationIgnored private let sync: TimelineSync
    @ObservationIgnored private let gate: UpdateGate
    @ObservationIgnored private var list = RowList<UnsentMessage>()

    /// Creates a model of the rooms that a synchronization has opened.
    public convenience init(_ sync: TimelineSync) {
        self.init(sync, clock: ContinuousModelClock())
    }

    package init(_ sync: TimelineSync, clock: any ModelClock) {
        self.sync = sync
        gate = UpdateGate(clock)
    }

    /// Publishes each change until the task is cancelled or the timeline is closed (`Timeline.close()`). The stop of
    /// the client does not end it.
    public func run() async {
        var changes = sync.timeline.changes.makeAsyncIterator()
        repeat {
            await gate.update {
                let (changes, pending, failed) = await Self.read(sync, list.elements)
                if let rows = list.apply(changes) { self.rows = rows }
                if pending != pendingCount { pendingCount = pending }
                if failed != failedCount { failedCount = failed }
            }
        } while await changes.next(isolation: #isolation) != nil
    }

    @concurrent
    private nonisolated static func read(
        _ sync: TimelineSync, _ old: [UnsentMessage]
    ) async -> (RowChanges<UnsentMessage>, pending: Int, failed: Int) {
        let all = sync.rooms.flatMap(\.unsent)
        let failed = all.count { $0.failure != nil }
        return (RowChanges(from: old, to: Array(all.prefix(maxRowCount))), all.count - failed, failed)
    }

    /// Sends a failed message again. A second call meanwhile has no effect.
    public func retry(_ message: UnsentMessage) async {
        let turn = sync.turn(in: message.room)
        await perform(in: message.room) { _ = try await $0.retry(message.id, in: turn) }
    }

    /// Cancels a message that was not sent yet, or discards one that has failed.
    public func discard(_ message: UnsentMessage) async {
        let turn = sync.turn(in: message.room)
        await perform(in: message.room) { _ = try await $0.discard(message.id, in: turn) }
    }

    /// Removes the error.
    public func clearFailure() {
        failure = nil
    }

    private func perform(in room: RoomName, _ command: @Sendable (SyncedRoom) async throws -> Void) async {
        do { try await Self.perform(command, room, sync) } catch {
            if let error = ModelError(error) { failure = error }
        }
    }

    @concurrent
    private nonisolated static func perform(
        _ command: @Sendable (SyncedRoom) async throws -> Void, _ room: RoomName, _ sync: TimelineSync
    ) async throws {
        try await command(try await sync.open(room: room))
    }
}
