import MartletLink
public import MartletWire

extension Room {
    /// The messages of the room, each with an explicit acknowledgement.
    ///
    /// The outbox stores the cursor of a message when ``Delivery/done(sending:)-([OutgoingMessage])`` is called, and
    /// not before. A message is not acknowledged by leaving the loop, by the cancellation of its task, or by the end of
    /// the client. The next iteration, including one of a later client with the same outbox, begins with the first
    /// unacknowledged message.
    ///
    /// | event | the messages that were returned and not acknowledged |
    /// |---|---|
    /// | the loop is left | the next iteration returns them again |
    /// | `stop`, `kill -9` | a later client receives them again, if the outbox is durable |
    ///
    /// At most one iteration over ``messages``, ``items`` and ``deliveries`` can be active; the first call of another
    /// iteration throws `alreadyIterating`. The relay delivers no more messages while those that are not acknowledged
    /// exceed the credit of the session. The sequence ends and throws like ``messages``. Gaps are omitted.
    public var deliveries: Deliveries { Deliveries(core: core, client: client) }

    /// An asynchronous sequence of a room's messages with their acknowledgements; see ``Room/deliveries``.
    public struct Deliveries: AsyncSequence, Sendable {
        /// A message with its acknowledgement.
        public typealias Element = Delivery

        let core: RoomCore
        let client: Client

        /// Creates an iterator whose first element is the first message that is not acknowledged.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(reader: ItemReader(core, of: client, acknowledgesExplicitly: true))
        }

        /// An iterator that returns buffered messages without suspending.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let reader: ItemReader

            /// Waits for the next message and returns it; nil if the application has closed the room or stopped the
            /// client.
            public mutating func next() async throws -> Delivery? {
                try await next(isolation: nil)
            }

            /// Waits for the next message and returns it; nil if the application has closed the room or stopped the
            /// client.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Delivery? {
                while let item = try await reader.next(isolation: actor) {
                    if case .message(let message) = item { return Delivery(message: message, core: reader.core) }
                }
                return nil
            }
        }
    }

    /// A message that the application acknowledges; see ``Room/deliveries``.
    public struct Delivery: Sendable, Identifiable {
        /// The maximum number of replies of a delivery.
        public static let maxReplyCount = 64

        /// The message.
        public let message: RoomMessage
        let core: RoomCore

        /// The ID of the message.
        public var id: MessageID { message.id }

        /// Acknowledges this message and all earlier ones of the room, and queues replies to it.
        ///
        /// The outbox stores the cursor and the replies in one transaction. If the client ends before the transaction,
        /// a later client receives the message again. The receipt *delivered* is sent after the transaction. A task
        /// that handles several messages at the same time acknowledges them in their order.
        ///
        /// The method waits while the room has no space for the replies; see ``Room/send(_:)-(OutgoingMessage)``. If
        /// the calling task is cancelled meanwhile, nothing is acknowledged.
        ///
        /// - Parameter replies: The messages to send in this room, at most ``maxReplyCount``.
        /// - Returns: The handles of the replies, in their order.
        /// - Throws: `alreadyAcknowledged` if this or a later message was acknowledged before; `tooManyReplies`,
        ///   `messageTooLarge`, `roomClosed`, `outboxFull`, `outboxFailed`: the message is then not acknowledged, and
        ///   no reply is queued. `stopped`: the outbox has stored both or nothing.
        @discardableResult
        nonisolated(nonsending) public func done(sending replies: [OutgoingMessage] = []) async throws
            -> [MessageHandle]
        {
            try await core.acknowledge(upTo: message.cursor, sending: replies)
        }

        /// Acknowledges this message and all earlier ones of the room, and queues a text in reply, like
        /// ``done(sending:)-([OutgoingMessage])``.
        ///
        /// - Throws: The errors of ``done(sending:)-([OutgoingMessage])``; `invalidContent` if the text is empty.
        @discardableResult
        nonisolated(nonsending) public func done(sending text: String) async throws -> MessageHandle {
            try await done(sending: [OutgoingMessage(text: text)])[0]
        }
    }
}
