import MartletLink
import MartletTransport
import MartletWire
import Synchronization

/// The calls of the loop.
extension RoomCore {
    /// Admits the sends for which there is room, and takes all changes since the last call. New messages are passed to
    /// an outbox with a queue, and returned otherwise.
    func takeChanges() -> (
        changes: ApplicationChanges, messages: [MessageLedger.Pending], replaced: [UInt64: MessageID]
    ) {
        var admitted: [(Promise<MessageHandle>, MessageHandle)] = []
        let taken = state.withLock { state -> (ApplicationChanges, [MessageLedger.Pending], [UInt64: MessageID]) in
            admit(&state, &admitted)
            if let outbox {
                pass(&state, to: outbox)
                return (state.takeChanges(), [], [:])
            }
            let messages = state.messages.beginStoring()
            return (state.takeChanges(), messages, state.letters.takeReplaced(by: messages.map(\.counter)))
        }
        for (promise, handle) in admitted { promise.resolve(.success(handle)) }
        return taken
    }

    /// Restores the messages of an earlier client and their outcomes, both in ascending order of their counters.
    ///
    /// - Parameter wallClock: The time in milliseconds since 1970.
    /// - Returns: The same messages for the engine.
    func restore(
        _ entries: [OutboxEntry], _ outcomes: [OutboxOutcome], at wallClock: UInt64
    ) -> [MessageLedger.Restored] {
        for outcome in outcomes { note(outcome.id) }
        return state.withLock { state in
            var outcomes = outcomes[...]
            var restored: [MessageLedger.Restored] = []
            for entry in entries {
                while let outcome = outcomes.first, outcome.id.counter < entry.id.counter {
                    state.messages.restore(outcome.id.counter, outcome.result)
                    restored.append(.settled(counter: outcome.id.counter))
                    outcomes.removeFirst()
                }
                state.messages.restore(entry.id.counter, entry.content)
                let message = MessageLedger.Pending(
                    counter: entry.id.counter, entry.content,
                    timeToLive: entry.isInFlight ? nil : entry.remainingTime(at: wallClock),
                    isCompressible: entry.isCompressible)
                restored.append(.pending(message, isInFlight: entry.isInFlight))
            }
            for outcome in outcomes {
                state.messages.restore(outcome.id.counter, outcome.result)
                restored.append(.settled(counter: outcome.id.counter))
            }
            for entry in entries where !entry.isInFlight {
                if let file = entry.file { state.files.add(entry.id.counter, file) }
            }
            return restored
        }
    }

    /// Reports that the outbox has stored messages or, with an error, that they have failed.
    func stored(_ counters: [UInt64], _ error: MartletError?) {
        var promises: [Promise<MessageHandle>?] = []
        wake { state in
            promises = counters.map { state.sends.take($0) }
            guard error != nil else { return [] }
            for counter in counters { state.messages.fail(counter, .closed) }
            return state.waiters.takeObservers { counters.contains($0) }
        }
        for (counter, promise) in zip(counters, promises) {
            promise?.resolve(error.map(Result.failure) ?? .success(MessageHandle(room: self, counter: counter)))
        }
    }

    /// Discards the items and members, because the room is opened with another cursor before the application has
    /// received any item.
    func reopened(in log: LogID?) {
        wake { state in
            state.inbox = Inbox()
            state.unacknowledged.removeAll()
            return state.changeView {
                $0 = RoomView(log: log)
                return true
            }
        }
    }

    // MARK: Messages

    /// Takes stored messages that have not failed meanwhile, for the engine.
    func takeStored(_ counters: [UInt64]) -> [MessageLedger.Pending] {
        state.withLock { $0.messages.stored(counters) }
    }

    /// Cancels a message that the outbox has not stored. Returns false if there is no such message.
    func cancelUnstored(_ counter: UInt64) -> Bool {
        state.withLock { $0.messages.isUnstored(counter) && $0.messages.fail(counter, .cancelled) }
    }

    /// Whether the outbox has not stored the message, so that the engine does not know it.
    func isUnstored(_ counter: UInt64) -> Bool { state.withLock { $0.messages.isUnstored(counter) } }

    /// Replaces the content of a message. Returns the earlier content; nil if the message has an outcome.
    func edit(_ counter: UInt64, _ content: MessageContent) -> MessageContent? {
        state.withLock { $0.messages.edit(counter, content) }
    }

    func sent(_ counters: ClosedRange<UInt64>) {
        wake { state in
            state.messages.sent(upTo: counters.upperBound)
            return state.waiters.takeObservers { counters.contains($0) }
        }
    }

    func accepted(_ run: AcceptedRun) {
        let last = run.counters.last.flatMap { run.offset(of: $0) }
        wake { state in
            state.messages.accepted(run)
            return state.waiters.takeObservers { run.counters.contains($0) }
                + (last.map { offset in state.changeView { $0.extend(to: offset) } } ?? [])
        }
    }

    func failed(_ counter: UInt64, _ failure: SendFailure) {
        wake { state in
            state.messages.fail(counter, failure)
            return state.waiters.takeObservers { $0 == counter }
        }
    }

    /// Reports that the relay has lost the log, except for the offsets up to one.
    func logReplaced(upTo branch: UInt64) {
        state.withLock { $0.messages.discardOffsets(above: branch) }
    }

    /// Reports a receipt of an account.
    func progressed(_ mark: Receipt.Mark, of account: AccountName, upTo offset: UInt64) {
        wake { state in
            // A receipt of another device of this account is not a receipt of a recipient.
            if account != self.account { state.messages.progressed(account, mark, upTo: offset) }
            var woken = state.viewChanged()
            if mark == .read, account == self.account {
                woken += state.changeView { $0.read(upTo: RoomCursor(offset: offset)) }
            }
            let messages = state.messages
            return woken
                + state.waiters.takeObservers { counter in
                    if case .accepted(let own)? = messages.state(of: counter) { own <= offset } else { false }
                }
        }
    }

    // MARK: Acknowledgements

    /// Begins to store the new messages, then the replies of an acknowledgement, which have no other messages between
    /// them. Returns nil if there is no space for the replies.
    func takeReplies(
        of call: Acknowledgement
    ) -> (earlier: [MessageLedger.Pending], letters: [UInt64: MessageID], replies: [MessageLedger.Pending])? {
        state.withLock { state in
            guard state.messages.hasRoom(byteCounts: call.replies.map(\.content.byteCount)) else { return nil }
            let earlier = state.messages.beginStoring()
            let letters = state.letters.takeReplaced(by: earlier.map(\.counter))
            for reply in call.replies { _ = state.append(reply) }
            return (earlier, letters, state.messages.beginStoring())
        }
    }

    /// Passes an acknowledgement and its replies to the outbox, after the new messages. Returns false if there is
    /// no space for the replies.
    func pass(_ call: Acknowledgement, to outbox: OutboxWriter) -> Bool {
        state.withLock { state in
            guard state.messages.hasRoom(byteCounts: call.replies.map(\.content.byteCount)) else { return false }
            pass(&state, to: outbox)
            for reply in call.replies { _ = state.append(reply) }
            var addition = addition(of: state.messages.beginStoring(), state.files, to: outbox)
            addition.acknowledgement = call
            outbox.append(addition)
            return true
        }
    }

    /// Ends an acknowledgement. Returns the credit of the acknowledged items, in bytes.
    @discardableResult
    func acknowledged(upTo cursor: RoomCursor, isStored: Bool) -> Int {
        var byteCount = 0
        wake { state in
            byteCount = state.unacknowledged.end(upTo: cursor, isStored: isStored)
            guard !isStored, !state.isIterating, state.end == nil else { return [] }
            state.inbox.putBack(state.unacknowledged.takeReturned()[...], lastReturned: nil)
            return state.waiters.takeReaders()
        }
        return byteCount
    }

    // MARK: Received

    func received(_ arrivals: [Inbox.Item]) {
        wake { state in
            guard state.end == nil else { return [] }
            state.inbox.append(arrivals)
            let last = arrivals.last?.cursor.offset ?? 0
            return state.waiters.takeReaders() + state.changeView { $0.extend(to: last) }
        }
    }

    func received(_ request: RoomRequest) {
        var surplus: RoomRequest?
        wake { state in
            surplus = state.requests.append(request, now: mailbox.loop.instant)
            return state.waiters.takeRequestTakers()
        }
        surplus?.fail(.tooManyRequests)
    }

    func requestCancelled(_ request: IncomingRequest.ID) {
        state.withLock { $0.requests.cancel(request) }
    }

    func opened(firstOffset: UInt64, lastOffset: UInt64, members: [AccountName], log: LogID?, branch: UInt64?) {
        wake {
            $0.changeView {
                $0.opened(
                    firstOffset: firstOffset, lastOffset: lastOffset, members: members, log: log, branch: branch)
            }
        }
        events.publish(.opened(firstOffset: firstOffset, lastOffset: lastOffset))
    }

    func presenceChanged(_ account: AccountName, _ presence: Room.Presence) {
        wake { $0.changeView { $0.note(account, presence) } }
        events.publish(.presence(account, presence))
    }

    func typingChanged(_ account: AccountName, _ isTyping: Bool) {
        wake { $0.changeView { $0.note(account, isTyping: isTyping) } }
        events.publish(.typing(account, isTyping))
    }

    /// Reports that the client has stopped retrying. Readers and tasks that wait for an acceptance receive an error.
    /// The reason is nil if the client retries again.
    func setStopReason(_ reason: StopReason?) {
        wake { state in
            state.stopReason = reason
            return reason == nil ? [] : state.waiters.takeReaders() + state.waiters.takeObservers { _ in true }
        }
    }

    // MARK: End

    /// Refuses further messages. Waiting sends fail.
    func stopSending() {
        let waiting = state.withLock { state -> [Promise<MessageHandle>] in
            if state.life == .open { state.life = .stopping }
            return state.sends.removeWaiting()
        }
        for promise in waiting { promise.resolve(.failure(MartletError.stopped)) }
    }

    /// Ends the room. Stored messages keep their states. Messages that are not stored fail, after `stopped` only those
    /// that the outbox has not been given: a later client sends the others. A send whose message the outbox has been
    /// given ends when the outbox has answered, because it can store the message (C-108).
    ///
    /// - Returns: The counters of the failed messages.
    @discardableResult
    func finish(_ end: End) -> [UInt64] {
        var failed: [UInt64] = []
        var promises: [Promise<MessageHandle>] = []
        var requests = Deque<RoomRequest>()
        wake { state in
            guard state.end == nil else { return [] }
            state.life = .ended(end)
            failed = state.messages.failUnstored(end.failure, onlyNew: end == .stopped)
            promises = outbox == nil ? state.sends.removeAll() : state.sends.removeWaiting()
            requests = state.requests.removeAll()
            if end == .closed || end == .stopped {
                discardsItems.store(true, ordering: .releasing)
                state.inbox.removeAll()
                state.unacknowledged.removeAll()
            }
            return state.waiters.takeAll()
        }
        for promise in promises { promise.resolve(.failure(end.error(of: name))) }
        // A released request sends a response, which needs the lock.
        requests.removeAll()
        events.finish()
        return failed
    }
}
