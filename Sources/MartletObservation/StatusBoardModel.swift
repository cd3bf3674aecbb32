public import Martlet
public import Observation

/// The status cards of a room, newest state first, for a view that shows every card in the same way.
///
/// ```swift
/// List(model.rows) { row in
///     VStack(alignment: .leading) {
///         Text(row.value.card.title)
///         Text(row.value.card.status.name)
///         ForEach(row.value.card.details, id: \.self) { LabeledContent($0.key, value: $0.value) }
///     }
/// }
/// .task { await model.run() }
/// ```
@MainActor @Observable
public final class StatusBoardModel {
    /// The maximum number of items of the room that one update applies.
    private nonisolated static let maxBatchCount = 512

    /// The cards in their order, at most `CardBoard.maxCount`. The array changes when the order changes, and an
    /// element when its card changes.
    public private(set) var rows: [RowModel<CardBoard.Entry>] = []
    /// Whether the cards of all messages that the relay keeps were read.
    public private(set) var isLoaded = false
    /// The error with which the room could not be opened, or was closed by the relay.
    public private(set) var failure: ModelError?

    @ObservationIgnored private let name: RoomName
    @ObservationIgnored private let client: Client
    @ObservationIgnored private let isModerator: @Sendable (AccountName) -> Bool
    @ObservationIgnored private let gate: UpdateGate
    @ObservationIgnored private var board = CardBoard()
    @ObservationIgnored private var list = RowList<CardBoard.Entry>()

    /// Creates a model of a room, which `run` opens. The room must not be open otherwise, for example by a
    /// `TimelineSync` of the client.
    ///
    /// - Parameters:
    ///   - room: The room.
    ///   - client: The client.
    ///   - isModerator: Whether an account may delete cards of others (M-9), such as the account of a relay that keeps
    ///     roles. It is called for each message.
    public convenience init(
        of room: RoomName, in client: Client, isModerator: @escaping @Sendable (AccountName) -> Bool = { _ in false }
    ) {
        self.init(of: room, in: client, isModerator: isModerator, clock: ContinuousModelClock())
    }

    package init(
        of room: RoomName, in client: Client, isModerator: @escaping @Sendable (AccountName) -> Bool = { _ in false },
        clock: any ModelClock
    ) {
        name = room
        self.client = client
        self.isModerator = isModerator
        gate = UpdateGate(clock)
    }

    /// Opens the room, reads its messages, and publishes each change until the task is cancelled or the room ends.
    public func run() async {
        (board, isLoaded, failure) = (CardBoard(), false, nil)
        do {
            let room = try await client.open(room: name.text, options: Room.Options(from: .start))
            do { try await follow(room) } catch { failure = ModelError(error) }
            await room.close()
        } catch {
            failure = ModelError(error)
        }
    }

    private func follow(_ room: Room) async throws {
        if room.lastOffset == 0 { await publish(isLoaded: true) }
        // Items that arrive during an update are in the next one.
        for try await batch in room.itemBatches(maxCount: Self.maxBatchCount) {
            for item in batch { _ = board.apply(item, isModerator: isModerator) }
            await publish(isLoaded: batch.last.map { $0.endOffset >= room.lastOffset } ?? false)
        }
    }

    private func publish(isLoaded isComplete: Bool) async {
        await gate.update {
            let (old, board) = (list.elements, board)
            let changes = await Self.changes(from: old, in: board)
            if let rows = list.apply(changes) { self.rows = rows }
            if isComplete, !isLoaded { isLoaded = true }
        }
    }

    @concurrent
    private nonisolated static func changes(
        from old: [CardBoard.Entry], in board: CardBoard
    ) async -> RowChanges<CardBoard.Entry> {
        RowChanges(from: old, to: board.cards)
    }
}
