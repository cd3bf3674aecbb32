extension Room {
    /// Requests of other members; see ``Room/requests``.
    public struct Requests: AsyncSequence, Sendable {
        /// A request, to be answered.
        public typealias Element = RoomRequest
        /// It does not fail.
        public typealias Failure = Never

        let core: RoomCore

        /// Begins with those that wait.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(core: core)
        }

        /// Takes requests in the order in which they came.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let core: RoomCore

            /// The next request; nil when the room is over or the task is cancelled.
            public mutating func next() async -> RoomRequest? {
                await next(isolation: nil)
            }

            /// The next request; nil when the room is over or the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> RoomRequest? {
                while true {
                    if let request = core.takeRequest() { return request }
                    guard !Task.isCancelled, core.end == nil else { return nil }
                    await core.wait(for: .requests)
                }
            }
        }
    }
}
