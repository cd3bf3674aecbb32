import MartletTransport
public import MartletWire

/// An asynchronous sequence of the names of changed rooms; see ``Timeline/changes``.
public struct TimelineChanges: AsyncSequence, Sendable {
    /// The names of the rooms that have changed since the previous element.
    public typealias Element = Set<RoomName>
    /// The sequence throws no errors.
    public typealias Failure = Never

    let feed: ChangeFeed

    /// Creates an iterator over the changes from now on.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(subscription: ChangeFeed.Subscription(feed))
    }

    /// An iterator with its own set of changed rooms.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let subscription: ChangeFeed.Subscription
        private var signals: AsyncStream<Void>.Iterator

        init(subscription: ChangeFeed.Subscription) {
            self.subscription = subscription
            signals = subscription.signals.makeAsyncIterator()
        }

        /// Waits for a change and returns the changed rooms; nil if the timeline is closed or the task is cancelled.
        public mutating func next() async -> Set<RoomName>? {
            await next(isolation: nil)
        }

        /// Waits for a change and returns the changed rooms; nil if the timeline is closed or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Set<RoomName>? {
            while await signals.next(isolation: actor) != nil {
                let rooms = subscription.take()
                if !rooms.isEmpty { return rooms }
            }
            return nil
        }
    }
}

/// The changed rooms of each iteration. A room that changes again before it is read is reported once.
final class ChangeFeed: Sendable {
    private struct Subscriber {
        var rooms: Set<RoomName> = []
        let signal: AsyncStream<Void>.Continuation
    }

    private struct State {
        var subscribers: [UInt64: Subscriber] = [:]
        var nextID: UInt64 = 0
        var isClosed = false
    }

    /// A subscription, which ends when the object is released.
    final class Subscription: Sendable {
        let signals: AsyncStream<Void>
        private let feed: ChangeFeed
        private let id: UInt64

        init(_ feed: ChangeFeed) {
            let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            self.signals = signals
            self.feed = feed
            id = feed.subscribe(signal)
        }

        deinit {
            feed.unsubscribe(id)
        }

        func take() -> Set<RoomName> { feed.take(id) }
    }

    private let state = Guarded(State())

    /// Reports a changed room.
    func publish(_ room: RoomName) {
        state.withLock { state in
            for id in state.subscribers.keys {
                state.subscribers[id]?.rooms.insert(room)
                state.subscribers[id]?.signal.yield()
            }
        }
    }

    /// Ends all iterations.
    func close() {
        let signals = state.withLock { state in
            state.isClosed = true
            return state.subscribers.values.map(\.signal)
        }
        for signal in signals { signal.finish() }
    }

    private func subscribe(_ signal: AsyncStream<Void>.Continuation) -> UInt64 {
        let (id, isClosed) = state.withLock { state in
            state.nextID += 1
            state.subscribers[state.nextID] = Subscriber(signal: signal)
            return (state.nextID, state.isClosed)
        }
        if isClosed { signal.finish() }
        return id
    }

    private func unsubscribe(_ id: UInt64) {
        state.withLock { state in _ = state.subscribers.removeValue(forKey: id) }
    }

    private func take(_ id: UInt64) -> Set<RoomName> {
        state.withLock { state in
            let rooms = state.subscribers[id]?.rooms ?? []
            state.subscribers[id]?.rooms = []
            return rooms
        }
    }
}
