import MartletLink
public import MartletWire

extension Room {
    /// The state of a room, as far as the relay has reported it.
    ///
    /// | property | before the relay has opened the room | without a connection |
    /// |---|---|---|
    /// | log, offsets | nil and 0 | the last known values |
    /// | members | empty | the last known members |
    /// | marks | empty, except the read offset of this account | the last known marks |
    public struct Snapshot: Sendable, Equatable {
        /// The presence of an account that has a member in the room.
        public struct Member: Sendable, Hashable, Identifiable {
            /// The account.
            public let account: AccountName
            /// Whether a link of the account has a connection; ``Room/Presence/online`` or ``Room/Presence/away``.
            public let presence: Presence
            /// Whether the account is typing. It ends after 10 s without a further report.
            public let isTyping: Bool

            /// The account.
            public var id: AccountName { account }
        }

        /// The offsets up to which an account has received and read messages.
        public struct Marks: Sendable, Hashable {
            /// The highest offset that a device of the account has received.
            public let delivered: UInt64
            /// The highest offset that the account has read.
            public let read: UInt64
        }

        private let view: RoomView
        private let progress: [MemberMarks.Progress]

        init(_ view: RoomView, _ progress: [MemberMarks.Progress]) {
            self.view = view
            self.progress = progress
        }

        /// The identity of the log; nil with a relay that does not identify its logs.
        public var log: LogID? { view.log }

        /// The offset of the oldest stored message when the relay last opened the room.
        public var firstOffset: UInt64 { view.firstOffset }

        /// The offset of the newest known message.
        public var lastOffset: UInt64 { view.lastOffset }

        /// The highest offset that the account of this client has read, on any of its devices.
        public var readOffset: UInt64 { view.readOffset }

        /// The accounts that have a member in the room, sorted by name. There are at most 4096.
        public var members: [Member] {
            view.presences.map { account, presence in
                Member(account: account, presence: presence, isTyping: view.typing.contains(account))
            }.sorted { $0.account.text < $1.account.text }
        }

        /// The delivered and read marks of other accounts; ``readOffset`` is the read mark of this account. At most
        /// 1024 marks are kept, those with the highest offsets.
        public var marks: [AccountName: Marks] {
            Dictionary(
                progress.map { ($0.account, Marks(delivered: $0.delivered, read: $0.read)) },
                uniquingKeysWith: { $1 })
        }
    }

    /// The current state of the room.
    public var snapshot: Snapshot { core.snapshot.snapshot }

    /// The states of the room, beginning with the current one.
    ///
    /// An iteration receives the latest state and can omit earlier ones, so that a slow reader is never behind. Any
    /// number of iterations can be active. An iteration ends when the room ends or its task is cancelled.
    public var snapshots: Snapshots { Snapshots(core: core, client: client) }

    /// An asynchronous sequence of a room's states; see ``Room/snapshots``.
    public struct Snapshots: AsyncSequence, Sendable {
        /// A state of the room.
        public typealias Element = Snapshot
        /// The sequence throws no errors.
        public typealias Failure = Never

        let core: RoomCore
        let client: Client

        /// Creates an iterator whose first element is the current state.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(core: core, client: client)
        }

        /// An iterator that returns each state at most once.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let core: RoomCore
            private let client: Client
            private var seen: UInt64?

            init(core: RoomCore, client: Client) {
                self.core = core
                self.client = client
            }

            /// Waits for a state that this iterator has not returned, and returns it; nil if the room has ended or the
            /// task is cancelled.
            public mutating func next() async -> Snapshot? {
                await next(isolation: nil)
            }

            /// Waits for a state that this iterator has not returned, and returns it; nil if the room has ended or the
            /// task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Snapshot? {
                while !Task.isCancelled {
                    let (snapshot, version, isOver) = core.snapshot
                    guard version == seen else {
                        seen = version
                        return snapshot
                    }
                    guard !isOver else { return nil }
                    await core.wait(for: .view(version: version))
                }
                return nil
            }
        }
    }
}
