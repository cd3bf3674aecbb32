import MartletLink
package import MartletWire

extension Room {
    /// The items of the room in batches, for an application that stores each batch in one transaction.
    ///
    /// A batch counts as handled, its credit is released, and its senders receive receipts, when the next batch is
    /// requested. A later iteration begins with the last batch of an earlier one, so that a batch that could not be
    /// stored is not lost. In all else the sequence is like ``items``.
    ///
    /// - Parameter maxCount: The maximum number of items of a batch, at least 1.
    package func itemBatches(maxCount: Int) -> ItemBatches {
        ItemBatches(core: core, client: client, maxCount: max(maxCount, 1))
    }

    /// An asynchronous sequence of batches of items; see ``Room/itemBatches(maxCount:)``.
    package struct ItemBatches: AsyncSequence, Sendable {
        package typealias Element = [RoomItem]

        let core: RoomCore
        let client: Client
        let maxCount: Int

        package func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(reader: ItemReader(core, of: client), maxCount: maxCount)
        }

        package struct AsyncIterator: AsyncIteratorProtocol {
            let reader: ItemReader
            let maxCount: Int

            package mutating func next() async throws -> [RoomItem]? {
                try await next(isolation: nil)
            }

            package mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> [RoomItem]? {
                try await reader.nextBatch(maxCount: maxCount, isolation: actor)
            }
        }
    }
}

/// The known state of a message that this device has sent.
package enum SendProgress: Sendable, Equatable {
    case unsettled
    case ended(OutboxOutcome.Result)
}

extension Room {
    /// The progress of messages of this device. It lacks messages that neither the room nor the outbox retains.
    package func progress(of ids: some Sequence<MessageID>) -> [MessageID: SendProgress] {
        core.state.withLock { state in
            var progress: [MessageID: SendProgress] = [:]
            for id in ids where id == core.messageID(id.counter) {
                switch state.messages.state(of: id.counter) {
                case nil: break
                case .queued?, .sent?: progress[id] = .unsettled
                case .accepted(let offset)?: progress[id] = .ended(.accepted(offset: offset))
                case .failed(let failure)?: progress[id] = .ended(.failed(failure))
                }
            }
            return progress
        }
    }

    /// The current ID of a message that had another device when it was queued (C-103); nil if it has not changed.
    package func currentID(of id: MessageID) -> MessageID? {
        let current = core.messageID(id.counter)
        return current != id && core.hadDevice(id.device) && id.sender == core.account ? current : nil
    }

    /// The number of changes of the states of messages.
    package var messageVersion: UInt64 { core.state.withLock { $0.messages.version } }

    /// Returns when the state of a message has changed after a version, when the room has ended, or when the task is
    /// cancelled.
    nonisolated(nonsending) package func waitForMessages(after version: UInt64) async {
        await core.wait(for: .messages(version: version))
    }

    /// Whether the room has ended.
    package var hasEnded: Bool { core.end != nil }
}
