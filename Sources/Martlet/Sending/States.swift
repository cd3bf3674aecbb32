import MartletProtocol
import MartletWire
import Synchronization

extension MessageHandle {
    /// The states of a message, from now on; see ``MessageHandle/states``.
    public struct States: AsyncSequence, Sendable {
        /// A state of the message.
        public typealias Element = MessageHandle.State
        /// The sequence does not fail.
        public typealias Failure = Never

        let room: RoomCore
        let counter: UInt64

        /// Begins with the present state.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(room: room, counter: counter)
        }

        /// Gives each state once.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let room: RoomCore
            let counter: UInt64
            private var observed = ObservedStates()
            private var isOver = false

            init(room: RoomCore, counter: UInt64) {
                self.room = room
                self.counter = counter
            }

            /// The next state; nil when there will be none.
            public mutating func next() async -> MessageHandle.State? {
                await next(isolation: nil)
            }

            /// The next state; nil when there will be none.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> MessageHandle.State? {
                while !isOver {
                    let (next, seen) = look()
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

            private mutating func look() -> (MessageHandle.State?, RoomCore.Look) {
                room.state.withLock { (observed.next(counter, in: $0.ledger), $0.look(at: counter)) }
            }
        }
    }
}
