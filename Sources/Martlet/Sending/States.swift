import MartletProtocol
import MartletWire
import Synchronization

extension Sending {
    /// Where a message stands, from now on; see ``Sending/states``.
    public struct States: AsyncSequence, Sendable {
        /// Where the message stands.
        public typealias Element = Sending.State
        /// It does not fail.
        public typealias Failure = Never

        let room: RoomCore
        let counter: UInt64

        /// Begins with the present state.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(room: room, counter: counter)
        }

        /// Remembers what it has told.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let room: RoomCore
            let counter: UInt64
            private var standing = Standing()
            private var isOver = false

            init(room: RoomCore, counter: UInt64) {
                self.room = room
                self.counter = counter
            }

            /// The next state; nil when there will be none.
            public mutating func next() async -> Sending.State? {
                await next(isolation: nil)
            }

            /// The next state; nil when there will be none.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Sending.State? {
                while !isOver {
                    let (next, isKnown, version, isEnded) = look()
                    if let next {
                        if case .failed = next { isOver = true }
                        return next
                    }
                    guard isKnown, !isEnded, !Task.isCancelled else { break }
                    await room.wait(for: .message(counter: counter, version: version))
                }
                isOver = true
                return nil
            }

            private mutating func look() -> (Sending.State?, isKnown: Bool, version: UInt64, isEnded: Bool) {
                room.state.withLock { state in
                    let next = standing.next(counter, in: state.ledger)
                    let isKnown = state.ledger.record(of: counter) != nil
                    return (next, isKnown, state.ledger.version, state.end != nil)
                }
            }
        }
    }
}
