import MartletLink
import Synchronization

extension Room {
    /// An asynchronous sequence of a room's messages, gaps and replaced logs; see ``Room/items``.
    public struct Items: AsyncSequence, Sendable {
        /// A message, a gap or a replaced log.
        public typealias Element = RoomItem

        let core: RoomCore
        let client: Client

        /// Creates an iterator whose first element is the first item that no earlier iterator has returned.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(reader: ItemReader(core, of: client))
        }

        /// An iterator that returns buffered items without suspending.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let reader: ItemReader

            /// Waits for the next item and returns it; nil if the application has closed the room or stopped the
            /// client.
            public mutating func next() async throws -> RoomItem? {
                try await next(isolation: nil)
            }

            /// Waits for the next item and returns it; nil if the application has closed the room or stopped the
            /// client.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> RoomItem? {
                try await reader.next(isolation: actor)
            }
        }
    }
}

extension Room {
    /// An asynchronous sequence of a room's messages; see ``Room/messages``.
    public struct Messages: AsyncSequence, Sendable {
        /// A message of the room.
        public typealias Element = RoomMessage

        let core: RoomCore
        let client: Client

        /// Creates an iterator whose first element is the first message that no earlier iterator has returned.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(reader: ItemReader(core, of: client))
        }

        /// An iterator that returns buffered messages without suspending.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let reader: ItemReader

            /// Waits for the next message and returns it; nil if the application has closed the room or stopped the
            /// client.
            public mutating func next() async throws -> RoomMessage? {
                try await next(isolation: nil)
            }

            /// Waits for the next message and returns it; nil if the application has closed the room or stopped the
            /// client.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> RoomMessage? {
                while let item = try await reader.next(isolation: actor) {
                    if case .message(let message) = item { return message }
                }
                return nil
            }
        }
    }
}

/// The state of one iteration over a room's items.
///
/// A reader takes all buffered items at once and returns them one by one. An item counts as handled when the next one
/// is requested, or with explicit acknowledgements when it is acknowledged. At the end of the iteration, the remaining
/// items and those of the last batch return to the inbox.
final class ItemReader {
    let core: RoomCore
    private let client: Client
    private let acknowledgesExplicitly: Bool
    private var isActive = false
    private var items: [Inbox.Item] = []
    private var index = 0
    /// The number of items from `index` on that the last batch contains.
    private var batchCount = 0
    private var creditByteCount = 0
    private var last: RoomCursor?

    init(_ core: RoomCore, of client: Client, acknowledgesExplicitly: Bool = false) {
        self.core = core
        self.client = client
        self.acknowledgesExplicitly = acknowledgesExplicitly
    }

    deinit {
        guard isActive else { return }
        if let last, creditByteCount > 0 { core.taken(creditByteCount: creditByteCount, upTo: last) }
        core.endIteration(items[index...], lastReturned: last)
    }

    func next(isolation: isolated (any Actor)?) async throws -> RoomItem? {
        try begin()
        if let last { core.handled(upTo: last) }
        guard try await fill(isolation: isolation) else { return nil }
        let item = items[index]
        index += 1
        if acknowledgesExplicitly { core.returned(item) } else { note(item) }
        return RoomItem(item)
    }

    /// Waits for items and returns at most `maxCount` of them. The items count as taken and handled when the next batch
    /// is requested. If the iteration ends before, the next iteration returns the last batch again.
    func nextBatch(maxCount: Int, isolation: isolated (any Actor)?) async throws -> [RoomItem]? {
        try begin()
        for item in items[index..<index + batchCount] {
            index += 1
            note(item)
        }
        batchCount = 0
        if let last {
            if creditByteCount > 0 { core.taken(creditByteCount: creditByteCount, upTo: last) }
            core.handled(upTo: last)
        }
        creditByteCount = 0
        last = nil
        guard try await fill(isolation: isolation) else { return nil }
        batchCount = min(maxCount, items.count - index)
        return items[index..<index + batchCount].map { RoomItem($0) }
    }

    private func begin() throws(MartletError) {
        guard !isActive else { return }
        try core.beginIteration()
        isActive = true
    }

    /// Takes items if none is left. Returns false after the end of the room.
    private func fill(isolation: isolated (any Actor)?) async throws -> Bool {
        while index == items.count {
            index = 0
            switch core.take(into: &items) {
            case .taken: break
            case .over(nil): return false
            case .over(let error?): throw error
            case .nothing:
                try Task.checkCancellation()
                await core.wait(for: .items)
            }
        }
        return !core.discardsItems.load(ordering: .acquiring)
    }

    private func note(_ item: Inbox.Item) {
        creditByteCount += item.creditByteCount
        last = item.cursor
        if index == items.count {
            core.taken(creditByteCount: creditByteCount, upTo: item.cursor)
            creditByteCount = 0
        }
    }
}

extension RoomItem {
    fileprivate init(_ item: Inbox.Item) {
        self =
            switch item {
            case .message(let message, _): .message(message)
            case .gap(let offsets, _): .gap(offsets)
            case .logReplaced(let previous, let current): .logReplaced(previous: previous, current: current)
            }
    }
}
