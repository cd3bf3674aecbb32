extension Client {
    /// An asynchronous sequence of the changes of an account's rooms; see ``Client/roomUpdates``.
    public struct RoomUpdates: AsyncSequence, Sendable {
        /// A change of the list.
        public typealias Element = RoomListUpdate
        /// The sequence throws no errors.
        public typealias Failure = Never

        let core: RoomListCore
        let mailbox: Mailbox

        /// Creates an iterator whose first element is the whole list, as soon as it is known.
        public func makeAsyncIterator() -> AsyncIterator {
            // A client that starts meanwhile finds the subscription.
            let subscription = RoomListCore.Subscription(core)
            mailbox.post(.watchRooms)
            return AsyncIterator(subscription: subscription)
        }

        /// An iterator that returns each change once, and several changes of a room that it has not taken as one.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let subscription: RoomListCore.Subscription

            /// Waits for the next change; nil if the client has stopped or the task is cancelled.
            public mutating func next() async -> RoomListUpdate? {
                await next(isolation: nil)
            }

            /// Waits for the next change; nil if the client has stopped or the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> RoomListUpdate? {
                while true {
                    switch subscription.core.next(for: subscription.id) {
                    case .update(let update): return update
                    case .over: return nil
                    case .empty:
                        guard !Task.isCancelled else { return nil }
                        await subscription.core.wait(for: subscription.id)
                    }
                }
            }
        }
    }
}
