extension Room {
    /// An asynchronous sequence of the requests of other members; see ``Room/requests``.
    public struct Requests: AsyncSequence, Sendable {
        /// A request to be answered.
        public typealias Element = RoomRequest
        /// The sequence throws no errors.
        public typealias Failure = Never

        let core: RoomCore
        let client: Client

        /// Creates an iterator whose first element is the oldest waiting request.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(core: core, client: client)
        }

        /// An iterator that returns requests in the order of their arrival.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let core: RoomCore
            let client: Client

            /// Waits for the next request and returns it; nil if the room has ended or the task is cancelled.
            public mutating func next() async -> RoomRequest? {
                await next(isolation: nil)
            }

            /// Waits for the next request and returns it; nil if the room has ended or the task is cancelled.
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
