extension Room {
    /// What happens in a room beside its messages; see ``Room/events``.
    public struct Events: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = Room.Event
        /// It does not fail.
        public typealias Failure = Never

        let broadcast: Broadcast<Room.Event>

        /// Events from now on.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(subscription: Broadcast.Subscription(broadcast))
        }

        /// Takes part until it goes away.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let subscription: Broadcast<Room.Event>.Subscription

            /// The next event; nil when the room is over or the task is cancelled.
            public mutating func next() async -> Room.Event? {
                await next(isolation: nil)
            }

            /// The next event; nil when the room is over or the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Room.Event? {
                while true {
                    switch subscription.broadcast.next(for: subscription.id) {
                    case .element(let event): return event
                    case .missed(let count): return .missed(count)
                    case .over: return nil
                    case .nothing: break
                    }
                    guard !Task.isCancelled else { return nil }
                    await subscription.broadcast.wait(for: subscription.id)
                }
            }
        }
    }
}
