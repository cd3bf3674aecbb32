import MartletProtocol
import MartletWire
import Synchronization

/// What the loop does with a room. Continuations are resumed after the lock is let go.
extension RoomCore {
    /// All that the application said since the last call, those admitted who have room by now.
    func takeNews() -> RoomNews {
        let (news, admitted) = state.withLock { state -> (RoomNews, [(OneShot<Sending>, Sending)]) in
            let admitted = admit(&state)
            state.isPosted = false
            var news = RoomNews()
            swap(&news, &state.news)
            news.arriving = state.outgoing.takeArriving()
            return (news, admitted)
        }
        for (shot, sending) in admitted { shot.resolve(.success(sending)) }
        return news
    }

    /// Messages of ours that the outbox remembers from earlier.
    func restore(_ entries: [OutboxEntry]) {
        state.withLock { state in
            for entry in entries {
                state.outgoing.restore(byteCount: entry.content.byteCount)
                state.ledger.queue(entry.id.counter, byteCount: entry.content.byteCount)
            }
        }
    }

    /// The room is opened from another place before the application has seen anything of it.
    func beginAgain() {
        state.withLock { state in
            state.inbox = Inbox()
            state.members = []
        }
    }

    // MARK: Our messages

    func sent(_ counters: ClosedRange<UInt64>) {
        wake { state in
            state.ledger.sent(counters)
            return state.takeObservers { counters.contains($0) }
        }
    }

    /// Answers the messages that this settled. Who waits for room is let in when the news is taken next.
    func accepted(_ run: AcceptedRun) -> [UInt64] {
        var settled: [UInt64] = []
        wake { state in
            for message in state.ledger.accepted(run) {
                state.outgoing.release(byteCount: message.byteCount)
                settled.append(message.counter)
            }
            return state.takeObservers { run.counters.contains($0) }
        }
        return settled
    }

    /// False when the message was settled before.
    func failed(_ counter: UInt64, _ failure: SendFailure) -> Bool {
        var isNews = false
        wake { state in
            guard let byteCount = state.ledger.failed(counter, failure) else { return [] }
            isNews = true
            state.outgoing.release(byteCount: byteCount)
            return state.takeObservers { $0 == counter }
        }
        return isNews
    }

    func progressed(_ account: AccountName, _ mark: Receipt.Mark, upTo offset: UInt64) {
        wake { state in
            guard state.ledger.progressed(account, mark, upTo: offset) else { return [] }
            let ledger = state.ledger
            return state.takeObservers { counter in
                guard let record = ledger.record(of: counter) else { return true }
                return record.phase == .accepted && record.offset <= offset
            }
        }
    }

    /// Whether messages of ours are neither accepted nor failed.
    var pendingCount: Int { state.withLock { $0.outgoing.pendingCount } }

    // MARK: What comes in

    func received(_ arrivals: [Inbox.Item]) {
        wake { state in
            guard state.end == nil else { return [] }
            state.inbox.append(arrivals)
            return state.takeReaders()
        }
    }

    func received(_ request: RoomRequest) {
        var surplus: RoomRequest?
        wake { state in
            surplus = state.requests.append(request, now: .now)
            return state.takeRequestTakers()
        }
        surplus?.fail(.tooManyRequests)
    }

    func cancelled(_ correlation: UInt64) {
        state.withLock { $0.requests.cancel(correlation) }
    }

    func opened(head: UInt64, first: UInt64, members: [AccountName], log: LogID?) {
        state.withLock { state in
            state.head = head
            state.first = first
            state.log = log
            state.members = Set(members)
        }
        events.publish(.opened(head: head, first: first))
    }

    /// What is known by offsets of the log before holds no longer.
    func logReplaced(previous: RoomCursor, current: RoomCursor) {
        state.withLock { $0.ledger.forgetOffsets() }
        events.publish(.logReplaced(previous: previous, current: current))
    }

    func present(_ account: AccountName, _ presence: Room.Presence) {
        state.withLock { state in
            if presence == .left {
                state.members.remove(account)
            } else if state.members.count < Self.maxMembers {
                state.members.insert(account)
            }
        }
        events.publish(.presence(account, presence))
    }

    /// While the client has given up, readers and those who wait for an acceptance are told so; nil when it tries
    /// again.
    func gaveUp(_ reason: StopReason?) {
        wake { state in
            state.gaveUp = reason
            guard reason != nil else { return [] }
            state.ledger.noteChange()
            return state.takeReaders() + state.takeObservers { _ in true }
        }
    }

    // MARK: The end

    /// Takes no more messages; who waits for room is let go.
    func stopSending() {
        let left = state.withLock { state -> [OneShot<Sending>] in
            state.isStopping = true
            return state.outgoing.removeWaiting()
        }
        for shot in left { shot.resolve(.failure(MartletError.stopped)) }
    }

    /// Nothing happens in the room any more. Messages that were not settled keep their state; those that had not
    /// arrived fail.
    func finish(_ end: End) {
        var left: [OneShot<Sending>] = []
        var requests = Deque<RoomRequest>()
        wake { state in
            guard state.end == nil else { return [] }
            state.end = end
            for entry in state.outgoing.arriving { _ = state.ledger.failed(entry.counter, .closed) }
            left = state.outgoing.removeAll()
            requests = state.requests.removeAll()
            if end == .closed || end == .stopped {
                isOverHere.store(true, ordering: .releasing)
                state.inbox.removeAll()
            }
            return state.takeReaders() + state.takeRequestTakers() + state.takeObservers { _ in true }
        }
        for shot in left { shot.resolve(.failure(end.error)) }
        // Their answers are refusals that nobody sends any more.
        requests.removeAll()
        events.finish()
    }

    private func wake(_ body: (inout State) -> [Waiter]) {
        let woken = state.withLock { body(&$0) }
        for waiter in woken { waiter.wake() }
    }
}
