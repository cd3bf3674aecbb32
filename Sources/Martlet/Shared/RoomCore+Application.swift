import MartletLink
import MartletTransport
import MartletWire
import Synchronization

/// The calls of the application.
extension RoomCore {
    // MARK: Sending

    private enum SendStep: Sendable {
        case queued(counter: UInt64)
        case waits(Promise<MessageHandle>, number: UInt64?)
    }

    /// Queues a message behind all waiting sends, before the method suspends, and then calls `whenQueued`.
    nonisolated(nonsending) func send(
        _ message: OutgoingMessage, whenQueued: () -> Void = {}
    ) async throws -> MessageHandle {
        // Only the application knows whether the account may delete messages of others (M-9).
        if message.content.kind == .edit, let body = try? MessageBody(message.content),
            MessageChange(body, by: account) == nil
        {
            throw MartletError.changeNotAllowed("it is of another account")
        }
        guard message.content.byteCount <= maxContentByteCount else {
            throw MartletError.messageTooLarge(byteCount: message.content.byteCount, limit: maxContentByteCount)
        }
        try Task.checkCancellation()
        if let outbox, let promise = try pass(message, to: outbox) {
            outbox.begin()
            whenQueued()
            return try await promise.value { self.withdraw(promise, nil) }
        }
        let step = try change { (state) throws(MartletError) -> SendStep in
            guard state.life == .open else { throw .stopped }
            let hasRoom = state.sends.isEmpty && state.messages.hasRoom(byteCount: message.content.byteCount)
            if hasRoom, !waits(for: message) { return .queued(counter: state.append(message)) }
            let promise = Promise<MessageHandle>()
            guard hasRoom else { return .waits(promise, number: state.sends.append(message, promise)) }
            state.sends.store(state.append(message), promise)
            return .waits(promise, number: nil)
        }
        whenQueued()
        switch step {
        case .queued(let counter): return MessageHandle(room: self, counter: counter)
        case .waits(let promise, let number): return try await promise.value { self.withdraw(promise, number) }
        }
    }

    /// Passes a message to the outbox without a turn of the loop. Returns nil if it must wait for space.
    private func pass(
        _ message: OutgoingMessage, to outbox: OutboxWriter
    ) throws(MartletError) -> Promise<MessageHandle>? {
        try state.withLock { (state) throws(MartletError) -> Promise<MessageHandle>? in
            if let end = state.end { throw end.error(of: name) }
            guard state.life == .open else { throw .stopped }
            guard state.sends.isEmpty, state.messages.hasRoom(byteCount: message.content.byteCount) else { return nil }
            let promise = Promise<MessageHandle>()
            state.sends.store(state.append(message), promise)
            pass(&state, to: outbox)
            return promise
        }
    }

    /// Passes all new messages to the outbox, in the order of their counters. The caller then calls `begin`.
    func pass(_ state: inout State, to outbox: OutboxWriter) {
        let messages = state.messages.beginStoring()
        guard !messages.isEmpty else { return }
        var addition = addition(of: messages, state.files, to: outbox)
        for (counter, letter) in state.letters.takeReplaced(by: messages.map(\.counter)) {
            addition.replaced[messageID(counter)] = letter
        }
        outbox.append(addition)
    }

    /// With a connection, messages are stored as in flight.
    func addition(
        of messages: [MessageLedger.Pending], _ files: MessageFiles, to outbox: OutboxWriter
    ) -> OutboxWriter.Addition {
        let (isInFlight, wallClock) = (outbox.isOnline, mailbox.loop.wallTime)
        return OutboxWriter.Addition(
            room: self,
            entries: messages.map { OutboxEntry($0, in: self, files, isInFlight: isInFlight, now: wallClock) })
    }

    /// Whether `send` waits for the outbox. A retry always waits, because the outbox may no longer have the dead letter
    /// (C-77).
    private func waits(for message: OutgoingMessage) -> Bool { outbox != nil || message.replacedLetter != nil }

    /// Handles the cancellation of a caller. The message is removed unless the outbox has begun to store it.
    private func withdraw(_ promise: Promise<MessageHandle>, _ number: UInt64?) {
        var isWithdrawn = false
        wake { state in
            if let number, state.sends.withdraw(number) {
                isWithdrawn = true
                return []
            }
            guard let counter = state.sends.counter(of: promise), state.messages.withdraw(counter) else { return [] }
            isWithdrawn = true
            _ = state.sends.take(counter)
            _ = state.letters.takeReplaced(by: [counter])
            return state.waiters.takeObservers { $0 == counter }
        }
        guard isWithdrawn else { return }
        promise.resolve(.failure(CancellationError()))
        // The loop admits sends that waited behind this one.
        note { _ in }
    }

    /// Queues the waiting sends for which there is room. Only the loop calls this method, so that the counters
    /// have the order of the calls.
    func admit(_ state: inout State, _ admitted: inout [(Promise<MessageHandle>, MessageHandle)]) {
        while let next = state.sends.first, state.messages.hasRoom(byteCount: next.message.content.byteCount) {
            _ = state.sends.popFirst()
            let counter = state.append(next.message)
            if waits(for: next.message) {
                state.sends.store(counter, next.promise)
            } else {
                admitted.append((next.promise, MessageHandle(room: self, counter: counter)))
            }
        }
    }

    /// Queues a message with the content of a dead letter. The same transaction of the outbox removes the dead letter.
    /// Returns nil if the letter was retried or discarded before.
    nonisolated(nonsending) func retry(
        _ letter: DeadLetter, whenQueued: () -> Void = {}
    ) async throws -> MessageHandle? {
        guard state.withLock({ $0.letters.claim(letter.id) }) else { return nil }
        var message = OutgoingMessage(
            letter.content, timeToLive: letter.timeToLive, isCompressible: letter.isCompressible)
        message.replacedLetter = letter.id
        message.file = letter.file
        do { return try await send(message, whenQueued: whenQueued) } catch MartletError.Code.unknownDeadLetter {
            return nil
        } catch {
            unclaim([letter.id])
            throw error
        }
    }

    /// Reports that the outbox has not removed dead letters.
    func unclaim(_ letters: [MessageID]) {
        if !letters.isEmpty { state.withLock { $0.letters.unclaim(letters) } }
    }

    // MARK: Receiving

    enum TakeResult: Sendable {
        case taken
        case nothing
        case over(MartletError?)
    }

    /// Takes all queued items. The last returned item of an ended iteration then counts as handled.
    func take(into items: inout [Inbox.Item]) -> TakeResult {
        items.removeAll(keepingCapacity: true)
        var taken: [Inbox.Item] = []
        swap(&taken, &items)
        defer { swap(&taken, &items) }
        var lastReturned: RoomCursor?
        defer { if let lastReturned { handled(upTo: lastReturned) } }
        return state.withLock { state -> TakeResult in
            lastReturned = state.inbox.takeLastReturned()
            switch state.end {
            case .closed?, .stopped?: return .over(nil)
            case .closedByRelay?, nil: break
            }
            state.inbox.take(leaving: &taken)
            if !taken.isEmpty { return .taken }
            if let end = state.end { return .over(end.error(of: name)) }
            if let reason = state.stopReason, !mailbox.isRetrying { return .over(.gaveUp(reason)) }
            return .nothing
        }
    }

    /// Reports that the application has received items. Their credit is released, and their senders receive receipts.
    func taken(creditByteCount: Int, upTo cursor: RoomCursor) {
        note { $0.changes.take(byteCount: creditByteCount, upTo: cursor) }
    }

    /// Reports that the application has handled the items up to a cursor. The call has an effect even after the relay
    /// has closed the room.
    func handled(upTo cursor: RoomCursor) {
        if state.withLock({ $0.handled.raise(to: cursor) }) { mailbox.post(.changed(self)) }
    }

    /// Begins an iteration over the items.
    ///
    /// - Throws: `alreadyIterating` if another iteration is active.
    func beginIteration() throws(MartletError) {
        let isFirst = state.withLock { state in
            defer { state.isIterating = true }
            return !state.isIterating
        }
        guard isFirst else { throw .alreadyIterating }
    }

    /// Ends an iteration. The next iteration begins with the unacknowledged items, followed by the remaining ones. In
    /// an iteration without acknowledgements, the last returned item counts as handled when the next iteration requests
    /// an item.
    func endIteration(_ rest: ArraySlice<Inbox.Item>, lastReturned cursor: RoomCursor?) {
        wake { state in
            state.isIterating = false
            switch state.end {
            case .closed?, .stopped?: return []
            case .closedByRelay?, nil: break
            }
            state.inbox.putBack(state.unacknowledged.takeReturned()[...] + rest, lastReturned: cursor)
            return state.waiters.takeReaders()
        }
    }

    /// Records an item that an iteration over deliveries returns.
    func returned(_ item: Inbox.Item) {
        state.withLock { $0.unacknowledged.append(item) }
    }

    /// Acknowledges the deliveries up to a cursor, and queues replies.
    nonisolated(nonsending) func acknowledge(
        upTo cursor: RoomCursor, sending replies: [OutgoingMessage]
    ) async throws -> [MessageHandle] {
        guard replies.count <= Room.Delivery.maxReplyCount else {
            throw MartletError.tooManyReplies(limit: Room.Delivery.maxReplyCount)
        }
        for reply in replies where reply.content.byteCount > maxContentByteCount {
            throw MartletError.messageTooLarge(byteCount: reply.content.byteCount, limit: maxContentByteCount)
        }
        let isFirst = try state.withLock { (state) throws(MartletError) in
            switch state.end {
            case .closed?, .stopped?: throw state.end?.error(of: name) ?? .stopped
            case .closedByRelay(let code)? where !replies.isEmpty: throw .roomClosed(code, room: name)
            case .closedByRelay?, nil: return state.unacknowledged.begin(upTo: cursor)
            }
        }
        guard isFirst else { throw MartletError.alreadyAcknowledged }
        let call = Acknowledgement(cursor: cursor, replies: replies, promise: Promise())
        guard mailbox.post(.acknowledge(self, call)) == .posted else {
            acknowledged(upTo: cursor, isStored: false)
            throw MartletError.stopped
        }
        return try await call.promise.value { [mailbox] in mailbox.post(.abandonAcknowledgement(self, call.promise)) }
    }

    /// Reports that the user has read the messages up to a cursor.
    func read(upTo cursor: RoomCursor) {
        note { $0.changes.read(upTo: cursor) }
        wake { $0.changeView { $0.read(upTo: cursor) } }
    }

    func takeRequest() -> RoomRequest? {
        state.withLock { $0.requests.popFirst(now: mailbox.loop.instant) }
    }
}

extension RoomCore.State {
    /// Appends a message for which there is room, and returns its counter.
    mutating func append(_ message: OutgoingMessage) -> UInt64 {
        let counter = counters.next()
        if let letter = message.replacedLetter { letters.replace(letter, by: counter) }
        messages.append(
            MessageLedger.Pending(
                counter: counter, message.content, timeToLive: message.timeToLive,
                isCompressible: message.isCompressible))
        if let file = message.file { files.add(counter, file) }
        return counter
    }
}
