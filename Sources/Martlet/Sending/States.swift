import MartletLink
import MartletWire
import Synchronization

extension MessageHandle {
    /// An asynchronous sequence of a message's states; see ``MessageHandle/states``.
    public struct States: AsyncSequence, Sendable {
        /// A state of the message.
        public typealias Element = MessageHandle.State
        /// The sequence throws no errors.
        public typealias Failure = Never

        let room: RoomCore
        let counter: UInt64

        /// Creates an iterator whose first element is the current state.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(room: room, counter: counter)
        }

        /// An iterator that returns each state at most once.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let room: RoomCore
            let counter: UInt64
            private var observed = ObservedStates()
            private var isOver = false

            init(room: RoomCore, counter: UInt64) {
                self.room = room
                self.counter = counter
            }

            /// Waits for the next state and returns it; nil if no state follows.
            public mutating func next() async -> MessageHandle.State? {
                await next(isolation: nil)
            }

            /// Waits for the next state and returns it; nil if no state follows.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> MessageHandle.State? {
                while !isOver {
                    let (next, seen) = poll()
                    if let next {
                        if case .failed = next { isOver = true }
                        return next
                    }
                    guard seen.state != nil, seen.end == nil, !Task.isCancelled else { break }
                    await room.wait(for: .message(counter: counter, seen: seen))
                }
                isOver = true
                return nil
            }

            private mutating func poll() -> (MessageHandle.State?, RoomCore.MessageSnapshot) {
                room.state.withLock { (observed.next(counter, in: $0.messages), $0.snapshot(of: counter)) }
            }
        }
    }
}
