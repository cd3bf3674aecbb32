extension Room {
    /// An asynchronous sequence of a room's events; see ``Room/events``.
    public struct Events: AsyncSequence, Sendable {
        /// An event of the room.
        public typealias Element = Room.Event
        /// The sequence throws no errors.
        public typealias Failure = Never

        let broadcast: Broadcast<Room.Event>
        let client: Client

        /// Creates an iterator over the events that occur from now on.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(subscription: Broadcast.Subscription(broadcast), client: client)
        }

        /// An iterator with its own buffer of events.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let subscription: Broadcast<Room.Event>.Subscription
            let client: Client

            /// Waits for the next event and returns it; nil if the room has ended or the task is cancelled.
            public mutating func next() async -> Room.Event? {
                await next(isolation: nil)
            }

            /// Waits for the next event and returns it; nil if the room has ended or the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Room.Event? {
                while true {
                    switch subscription.broadcast.next(for: subscription.id) {
                    case .element(let event): return event
                    case .missed(let count): return .missed(count)
                    case .over: return nil
                    case .empty: break
                    }
                    guard !Task.isCancelled else { return nil }
                    await subscription.broadcast.wait(for: subscription.id)
                }
            }
        }
    }
}
