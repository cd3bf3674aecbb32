import Martlet
import MartletLink
import MartletTransport
import MartletWire

/// The synchronization of the timeline with the outbox and the log.
extension SyncedRoom {
    // MARK: Restart

    /// Synchronizes the timeline with the outbox. The method can be called again after an error.
    nonisolated(nonsending) func restore() async throws {
        let letters = try await readLetters()
        let shown = try await timeline.unsettled(in: name)
        let intents = Dictionary(shown.compactMap { message in message.intent.map { (message.id, $0) } }) { $1 }
        let pending = room.pending.compactMap { handle in handle.content.map { (handle.id, $0) } }
        var steps: [OutgoingStep] = []
        let former = Self.formerIDs(of: pending.map(\.0), in: shown)
        for (id, content) in pending where intents[id] == nil {
            steps.append(former[id].map { .replace($0, by: id, content) } ?? .add(id, content))
        }
        for letter in letters where intents[letter.id] == nil {
            steps += [.add(letter.id, letter.content), .settle(letter.id, .failed(letter.failure), log: nil)]
        }
        let decided = Set(pending.map(\.0)).union(letters.map(\.id))
        let undecided = shown.filter { !decided.contains($0.id) && !former.values.contains($0.id) }
        let progress = room.progress(of: undecided.map(\.id))
        for message in undecided { steps += Self.steps(for: message, progress[message.id]) }
        try await perform(steps)
        state.withLock { state in
            state.unsettled.formUnion(pending.map(\.0))
            state.unsettled.formUnion(progress.keys)
        }
        try await resume(intents.filter { decided.contains($0.key) || progress[$0.key] != nil }, letters)
        if let read = try await timeline.readCursor(of: name) { room.markRead(upTo: read) }
    }

    /// The IDs under which the timeline shows pending messages whose device has taken another ID since (C-103). The
    /// counters of an outbox are unique.
    private static func formerIDs(of pending: [MessageID], in shown: [UnsettledMessage]) -> [MessageID: MessageID] {
        let byCounter = Dictionary(shown.map { ($0.id.counter, $0.id) }) { $1 }
        let pairs = pending.compactMap { id in
            byCounter[id.counter].flatMap { $0 != id && $0.sender == id.sender ? (id, $0) : nil }
        }
        return Dictionary(pairs) { $1 }
    }

    /// The steps for a message that is neither pending nor a dead letter in the outbox.
    private static func steps(for message: UnsettledMessage, _ progress: SendProgress?) -> [OutgoingStep] {
        switch (progress, message.intent) {
        case (.ended(let result)?, .some): [.unmark(message.id), .settle(message.id, result, log: nil)]
        case (.ended(let result)?, nil): [.settle(message.id, result, log: nil)]
        case (.unsettled?, _): []
        // The outbox has stored the retry or the removal.
        case (nil, .some): [.remove(message.id)]
        case (nil, nil): message.hasFailed ? [] : [.settle(message.id, .failed(.outcomeUnknown), log: nil)]
        }
    }

    /// Performs retries and removals that an earlier process has begun.
    nonisolated(nonsending) private func resume(
        _ intents: [MessageID: OutgoingStep.Intent], _ letters: [DeadLetter]
    ) async throws {
        for (id, intent) in intents.sorted(by: { $0.key.counter < $1.key.counter }) {
            let letter = letters.first { $0.id == id }
            switch intent {
            case .removal:
                if try await !remove(id) { try await send(.delete(MessageReference(id)), in: nil) }
            case .retry:
                if let letter { _ = try await retry(letter, nil) } else { try await perform([.unmark(id)]) }
            }
        }
    }

    // MARK: Running

    /// Applies items and records outcomes until the room or the client has ended.
    nonisolated(nonsending) func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.applyItems() }
            group.addTask { try await self.settleMessages() }
            group.addTask { try await self.followReadMark() }
            // The first error ends the other tasks.
            while try await group.next() != nil {}
        }
    }

    private func applyItems() async throws {
        while true {
            do {
                for try await batch in room.itemBatches(maxCount: Self.maxBatchCount) {
                    removeLetters(of: batch)
                    try await timeline.apply(batch, in: name, isModerator: isModerator)
                    try await storeReadMark()
                }
                return
            } catch MartletError.Code.gaveUp {
                // The application can retry.
                for await status in client.status {
                    if case .stopped = status.phase { continue }
                    break
                }
                try Task.checkCancellation()
            } catch MartletError.Code.roomClosed {
                return
            }
        }
    }

    /// The client has removed the dead letters of messages that the log has (C-77).
    private func removeLetters(of batch: [RoomItem]) {
        state.withLock { state in
            guard !state.letters.isEmpty else { return }
            let ids = batch.compactMap { item -> MessageID? in
                if case .message(let message) = item { message.id } else { nil }
            }
            let received = Set(ids)
            state.letters.removeAll { received.contains($0.id) }
        }
    }

    private func settleMessages() async throws {
        while true {
            let version = room.messageVersion
            let hasEnded = room.hasEnded
            try await settle(state.withLock { $0.unsettled })
            guard !hasEnded else { return }
            try Task.checkCancellation()
            await room.waitForMessages(after: version)
        }
    }

    /// Stores the read mark of the user's other devices.
    private func followReadMark() async throws {
        var last = RoomCursor(offset: 0)
        for await snapshot in room.snapshots {
            let cursor = RoomCursor(log: snapshot.log, offset: snapshot.readOffset)
            guard cursor.offset > 0, cursor != last else { continue }
            last = cursor
            state.withLock { $0.readMark = cursor }
            try await storeReadMark()
        }
    }

    /// Stores the read mark. A mark of a log that the timeline does not know waits for the items of this log.
    private func storeReadMark() async throws {
        guard let mark = state.withLock({ $0.readMark }) else { return }
        guard try await timeline.storeReadMark(mark, in: name) else { return }
        state.withLock { if $0.readMark == mark { $0.readMark = nil } }
    }
}
