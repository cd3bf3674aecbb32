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
            let messages = state.ledger.beginStoring()
            return (state.takeChanges(), messages, state.letters.takeReplaced(by: messages.map(\.counter)))
        }
        for (promise, handle) in admitted { promise.resolve(.success(handle)) }
        return taken
    }

    /// Restores the messages of an earlier client and their outcomes, both in ascending order of their counters.
    ///
    /// - Parameters:
    ///   - wallClock: The time in milliseconds since 1970.
    ///   - now: The same time on the client's clock.
    func restore(_ entries: [OutboxEntry], _ outcomes: [OutboxOutcome], at wallClock: UInt64, now: Instant) {
        for outcome in outcomes { note(outcome.id) }
        state.withLock { state in
            var outcomes = outcomes[...]
            for entry in entries {
                while let outcome = outcomes.first, outcome.id.counter < entry.id.counter {
                    state.ledger.restore(outcome)
                    outcomes.removeFirst()
                }
                state.ledger.restore(
                    counter: entry.id.counter, entry.content,
                    timeToLive: entry.isInFlight ? nil : entry.remainingTime(at: wallClock),
                    isCompressible: entry.isCompressible,
                    resendableUntil: entry.isInFlight ? ResendWindow.end(ofEarlier: now) : nil)
            }
            for outcome in outcomes { state.ledger.restore(outcome) }
            for entry in entries where !entry.isInFlight {
                if let file = entry.file { state.files.add(entry.id.counter, file) }
            }
        }
    }

    /// Reports that the outbox has stored messages or, with an error, that they have failed.
    func stored(_ counters: [UInt64], _ error: MartletError?) {
        var promises: [Promise<MessageHandle>?] = []
        wake { state in
            promises = counters.map { state.sends.take($0) }
            guard error != nil else { return [] }
            for counter in counters { _ = state.ledger.fail(counter, .closed) }
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

    /// Reports that states of messages have changed in the ledger.
    func messagesChanged(where hasChanged: (UInt64) -> Bool) {
        wake { $0.waiters.takeObservers(where: hasChanged) }
    }

    /// Reports that the ledger has processed a receipt of an account.
    func progressed(_ mark: Receipt.Mark, of account: AccountName, upTo offset: UInt64) {
        wake { state in
            var woken = state.viewChanged()
            if mark == .read, account == self.account {
                woken += state.changeView { $0.read(upTo: RoomCursor(offset: offset)) }
            }
            let ledger = state.ledger
            return woken
                + state.waiters.takeObservers { counter in
                    if case .accepted(let own)? = ledger.state(of: counter) { own <= offset } else { false }
                }
        }
    }

    // MARK: Acknowledgements

    /// Begins to store the new messages, then the replies of an acknowledgement, which have no other messages between
    /// them. Returns nil if the ledger has no space for the replies.
    func takeReplies(
        of call: Acknowledgement
    ) -> (earlier: [MessageLedger.Pending], letters: [UInt64: MessageID], replies: [MessageLedger.Pending])? {
        state.withLock { state in
            guard state.ledger.hasRoom(byteCounts: call.replies.map(\.content.byteCount)) else { return nil }
            let earlier = state.ledger.beginStoring()
            let letters = state.letters.takeReplaced(by: earlier.map(\.counter))
            for reply in call.replies { _ = state.append(reply) }
            return (earlier, letters, state.ledger.beginStoring())
        }
    }

    /// Passes an acknowledgement and its replies to the outbox, after the new messages. Returns false if the ledger has
    /// no space for the replies.
    func pass(_ call: Acknowledgement, to outbox: OutboxWriter) -> Bool {
        state.withLock { state in
            guard state.ledger.hasRoom(byteCounts: call.replies.map(\.content.byteCount)) else { return false }
            pass(&state, to: outbox)
            for reply in call.replies { _ = state.append(reply) }
            var addition = addition(of: state.ledger.beginStoring(), state.files, to: outbox)
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

    /// Reports that the relay has stored messages of this client up to an offset.
    func extended(to offset: UInt64) {
        wake { $0.changeView { $0.extend(to: offset) } }
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

    /// Ends the room. Stored messages keep their states; messages that are not yet stored fail. A send whose message
    /// the outbox has been given ends when the outbox has answered, because it can store the message (C-108).
    func finish(_ end: End) {
        var promises: [Promise<MessageHandle>] = []
        var requests = Deque<RoomRequest>()
        wake { state in
            guard state.end == nil else { return [] }
            state.life = .ended(end)
            state.ledger.failNew()
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
    }
}

extension MessageLedger {
    fileprivate mutating func restore(_ outcome: OutboxOutcome) {
        switch outcome.result {
        case .accepted(let offset): restore(counter: outcome.id.counter, acceptedAt: offset)
        case .failed(let failure): restore(counter: outcome.id.counter, failedWith: failure)
        }
    }
}
