extension Client {
    /// A client's status, as it changes; see ``Client/status``.
    public struct StatusUpdates: AsyncSequence, Sendable {
        /// Where the client stands.
        public typealias Element = Client.Status
        /// It does not fail.
        public typealias Failure = Never

        let latest: Latest<Client.Status>

        /// Begins with the present status.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(latest: latest)
        }

        /// Remembers what it has told.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let latest: Latest<Client.Status>
            private var version: UInt64 = 0

            init(latest: Latest<Client.Status>) {
                self.latest = latest
            }

            /// The latest status that is not yet told; nil when the client has stopped or the task is cancelled.
            public mutating func next() async -> Client.Status? {
                await next(isolation: nil)
            }

            /// The latest status that is not yet told; nil when the client has stopped or the task is cancelled.
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
