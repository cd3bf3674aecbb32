import MartletProtocol
import MartletWire
import Synchronization

/// What the application does with a room.
extension RoomCore {
    // MARK: Sending

    private enum Step: Sendable {
        case queued(counter: UInt64)
        case wait(OneShot<Sending>, ticket: UInt64?)
    }

    /// Queues a message, after all that wait already.
    nonisolated(nonsending) func send(_ message: OutgoingMessage) async throws -> Sending {
        guard message.content.byteCount <= maxContentByteCount else {
            throw MartletError.messageTooLarge(byteCount: message.content.byteCount, limit: maxContentByteCount)
        }
        try Task.checkCancellation()
        let step = try change { (state) throws(MartletError) -> Step in
            guard !state.isStopping else { throw .stopped }
            let isFree = state.outgoing.hasRoom(for: message)
            if isFree, !waitsForOutbox { return .queued(counter: queue(message, nil, &state)) }
            let shot = OneShot<Sending>()
            guard isFree else { return .wait(shot, ticket: state.outgoing.wait(message, shot)) }
            _ = queue(message, shot, &state)
            return .wait(shot, ticket: nil)
        }
        switch step {
        case .queued(let counter): return Sending(room: self, counter: counter)
        case .wait(let shot, let ticket): return try await shot.value { self.withdraw(shot, ticket) }
        }
    }

    private func queue(_ message: OutgoingMessage, _ shot: OneShot<Sending>?, _ state: inout State) -> UInt64 {
        let counter = state.outgoing.append(message, shot)
        state.ledger.queue(counter, byteCount: message.content.byteCount)
        return counter
    }

    /// The caller is cancelled: unless the message is the outbox's or the engine's already it is as if it had never
    /// been.
    private func withdraw(_ shot: OneShot<Sending>, _ ticket: UInt64?) {
        let isWithdrawn = state.withLock { state -> Bool in
            switch state.outgoing.withdraw(shot, ticket: ticket) {
            case .tooLate: return false
            case .waiting: return true
            case .arriving(let counter):
                state.ledger.withdraw(counter)
                return true
            }
        }
        guard isWithdrawn else { return }
        shot.resolve(.failure(CancellationError()))
        // Those behind it may fit where it did not.
        note { _ in }
    }

    /// Lets those in who have room now. The loop calls it, so that the order of the calls is the order of the counters.
    func admit(_ state: inout State) -> [(OneShot<Sending>, Sending)] {
        var admitted: [(OneShot<Sending>, Sending)] = []
        while let next = state.outgoing.popAdmissible() {
            let counter = queue(next.message, waitsForOutbox ? next.shot : nil, &state)
            if !waitsForOutbox { admitted.append((next.shot, Sending(room: self, counter: counter))) }
        }
        return admitted
    }

    // MARK: Receiving

    enum Taking: Sendable {
        case taken
        case nothing
        case over(MartletError?)
    }

    /// Takes all that waits. What an earlier iteration had in hand has been handled with that.
    func take(into items: inout [Inbox.Item]) -> Taking {
        items.removeAll(keepingCapacity: true)
        var taken: [Inbox.Item] = []
        swap(&taken, &items)
        defer { swap(&taken, &items) }
        var inHand: RoomCursor?
        defer { if let inHand { handled(upTo: inHand) } }
        return state.withLock { state -> Taking in
            swap(&inHand, &state.inHand)
            switch state.end {
            case .closed?, .stopped?: return .over(nil)
            case .closedByRelay?, nil: break
            }
            state.inbox.take(leaving: &taken)
            if !taken.isEmpty { return .taken }
            if let end = state.end { return .over(end.error) }
            if let reason = state.gaveUp, !mailbox.isRetrying { return .over(.gaveUp(reason)) }
            return .nothing
        }
    }

    /// Items were handed out: their credit may go back, and their senders may hear of it.
    func handedOut(creditByteCount: Int, upTo cursor: RoomCursor) {
        note { state in
            state.news.takenByteCount += creditByteCount
            state.news.takenUpTo.advance(to: cursor)
        }
    }

    /// The application has asked for what comes after this place. It counts also when the relay has closed the room.
    func handled(upTo cursor: RoomCursor) {
        if handled.raise(to: cursor) { mailbox.post(.changed(self)) }
    }

    /// An iteration ended: the rest is for the next, and what it handed out last is handled when that begins.
    func giveBack(_ rest: ArraySlice<Inbox.Item>, inHand cursor: RoomCursor) {
        note { state in
            state.inbox.giveBack(rest)
            state.inHand.advance(to: cursor)
        }
    }

    func takeRequest() -> RoomRequest? {
        state.withLock { $0.requests.popFirst(now: .now) }
    }
}
