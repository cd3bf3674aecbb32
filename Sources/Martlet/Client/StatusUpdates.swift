extension Client {
    /// An asynchronous sequence of a client's statuses; see ``Client/status``.
    public struct StatusUpdates: AsyncSequence, Sendable {
        /// A status of the client.
        public typealias Element = Client.Status
        /// The sequence throws no errors.
        public typealias Failure = Never

        let latest: Latest<Client.Status>

        /// Creates an iterator whose first element is the current status.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(latest: latest)
        }

        /// An iterator that returns each status at most once.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let latest: Latest<Client.Status>
            private var version: UInt64 = 0

            init(latest: Latest<Client.Status>) {
                self.latest = latest
            }

            /// Waits for a status that this iterator has not returned, and returns it; nil if the client has stopped or
            /// the task is cancelled.
            public mutating func next() async -> Client.Status? {
                await next(isolation: nil)
            }

            /// Waits for a status that this iterator has not returned, and returns it; nil if the client has stopped or
            /// the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Client.Status? {
                while true {
                    if let status = latest.next(after: &version) { return status }
                    guard !latest.isOver, !Task.isCancelled else { return nil }
                    await latest.wait(for: version)
                }
            }
        }
    }
}
