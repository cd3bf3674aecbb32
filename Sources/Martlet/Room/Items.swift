import MartletProtocol
import Synchronization

extension Room {
    /// A room's messages and gaps; see ``Room/items``.
    public struct Items: AsyncSequence, Sendable {
        /// A message or a gap.
        public typealias Element = RoomItem

        let core: RoomCore

        /// Begins with what has not been handed out yet.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(reader: ItemReader(core))
        }

        /// Hands out what is there without suspending.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let reader: ItemReader

            /// The next item, as soon as there is one.
            public mutating func next() async throws -> RoomItem? {
                try await next(isolation: nil)
            }

            /// The next item, as soon as there is one.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> RoomItem? {
                try await reader.next(isolation: actor)
            }
        }
    }
}

extension Room {
    /// A room's messages; see ``Room/messages``.
    public struct Messages: AsyncSequence, Sendable {
        /// A message.
        public typealias Element = RoomMessage

        let core: RoomCore

        /// Begins with what has not been handed out yet.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(reader: ItemReader(core))
        }

        /// Hands out what is there without suspending.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let reader: ItemReader

            /// The next message, as soon as there is one.
            public mutating func next() async throws -> RoomMessage? {
                try await next(isolation: nil)
            }

            /// The next message, as soon as there is one.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> RoomMessage? {
                while let item = try await reader.next(isolation: actor) {
                    if case .message(let message) = item { return message }
                }
                return nil
            }
        }
    }
}

/// One iteration over a room's items. It takes all that there is at once and hands it out one by one; when it goes
/// away, what it has not handed out goes back. An item is handled when the next one is asked for.
final class ItemReader {
    private let core: RoomCore
    private var items: [Inbox.Item] = []
    private var index = 0
    private var creditByteCount = 0
    private var last: RoomCursor?

    init(_ core: RoomCore) {
        self.core = core
    }

    deinit {
        guard let last else { return }
        if creditByteCount > 0 { core.handedOut(creditByteCount: creditByteCount, upTo: last) }
        core.putBack(items[index...], inHand: last)
    }

    func next(isolation: isolated (any Actor)?) async throws -> RoomItem? {
        if let last { core.handled(upTo: last) }
        while index == items.count {
            index = 0
            switch core.take(into: &items) {
            case .taken: break
            case .over(nil): return nil
            case .over(let error?): throw error
            case .nothing:
                try Task.checkCancellation()
                await core.wait(for: .items)
            }
        }
        guard !core.isOverHere.load(ordering: .acquiring) else { return nil }
        return handOut()
    }

    private func handOut() -> RoomItem {
        let item = items[index]
        index += 1
        creditByteCount += item.creditByteCount
        last = item.cursor
        if index == items.count {
            core.handedOut(creditByteCount: creditByteCount, upTo: item.cursor)
            creditByteCount = 0
        }
        switch item {
        case .message(let message, _): return .message(message)
        case .gap(let offsets, _): return .gap(offsets)
        case .logReplaced(let previous, let current): return .logReplaced(previous: previous, current: current)
        }
    }
}
