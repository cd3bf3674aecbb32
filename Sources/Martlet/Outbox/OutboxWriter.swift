import MartletLink
import MartletMetrics
import MartletTransport
import MartletWire
import Synchronization

/// A queue of operations on an outbox. One round of operations is in progress at a time, which is one transaction
/// (C-74). Operations that arrive meanwhile join it if the outbox takes them (`GroupingOutbox`), and are the next round
/// otherwise. If the outbox refuses a message or an edit of a round, the others are stored in smaller transactions
/// (C-78).
///
/// | round | left by |
/// |---|---|
/// | waiting | `begin`, when none is in progress |
/// | in progress | the outbox has stored it; it has failed, and the loop has called `finished` |
/// | stored, its senders are resumed | `finished` |
/// | any | `abandon`; the calls of a round in progress end when the outbox has returned (C-108) |
///
/// A room passes messages under its lock, so that they are stored in the order of their counters. The loop receives the
/// outcomes of the rounds in order.
///
/// The size is bounded: messages and marks by the limits of the rooms, edits and calls by their callers, cursors by the
/// rooms, and outcomes that could not be stored by ``maxKeptOutcomeCount``.
final class OutboxWriter: Sendable {
    /// The maximum number of outcomes that could not be stored and are kept for the next round. Beyond it, the oldest
    /// ones are discarded, and the next client sends those messages again.
    static let maxKeptOutcomeCount = 65_536
    /// The number of additions and edits of a round beyond which no further operations join it.
    static let maxJoiningCount = 1024

    private struct State: Sendable {
        /// The operations of the next round.
        var work = Round()
        /// The operations in progress.
        var round: Round?
        /// The transactions of the round in progress: one for the operations that began the round, and one for each
        /// group of operations that joined it.
        var parts: [OutboxTransaction] = []
        /// The outcome of the round in progress that was not stored, until the loop has taken it.
        var failed: Outcome?
        /// Stored rounds whose outcomes the loop has not taken.
        var stored: [Round] = []
        /// Changes that could not be stored.
        var kept = OutboxTransaction()
        /// Whether the loop takes no more outcomes.
        var isAbandoned = false
        /// The start of the round in progress, and the durations of the stored rounds.
        var roundStart = Instant.zero
        var durations = Histogram()

        mutating func takeWork() -> Round {
            var taken = work
            if !kept.isEmpty {
                taken.rest = kept
                taken.rest.append(work.rest)
                kept = OutboxTransaction()
            }
            work = Round()
            return taken
        }
    }

    private let outbox: any Outbox
    private let mailbox: Mailbox
    private let state = Guarded(State())
    private let online = Atomic(false)

    init(_ outbox: any Outbox, mailbox: Mailbox) {
        self.outbox = outbox
        self.mailbox = mailbox
    }

    /// Whether there is a connection, on which a message may be written as soon as it is stored.
    var isOnline: Bool {
        get { online.load(ordering: .relaxed) }
        set { online.store(newValue, ordering: .relaxed) }
    }

    /// The durations of the stored rounds.
    var durations: Histogram { state.withLock { $0.durations } }

    var isIdle: Bool { state.withLock { $0.round == nil && $0.work.isEmpty && $0.stored.isEmpty } }

    /// Whether outcomes of messages wait for a transaction, or are part of the one in progress.
    var hasOutcomes: Bool {
        state.withLock { !$0.work.rest.outcomes.isEmpty || $0.round?.rest.outcomes.isEmpty == false }
    }

    // MARK: Operations

    /// Adds operations, and begins a round.
    func add(_ body: (inout Round) -> Void) {
        state.withLock { body(&$0.work) }
        begin()
    }

    /// Adds messages. The caller holds the lock of their room, and then calls `begin`.
    func append(_ addition: Addition) {
        state.withLock { $0.work.additions.append(addition) }
    }

    /// Repeats the changes that could not be stored.
    func retry() {
        begin(onlyKept: true)
    }

    /// Begins a round if operations wait and none is in progress.
    func begin(onlyKept: Bool = false) {
        let now = Instant(nanoseconds: mailbox.loop.currentTime)
        let round = state.withLock { state -> Round? in
            guard state.round == nil, onlyKept ? !state.kept.isEmpty : !state.work.isEmpty else { return nil }
            let round = state.takeWork()
            state.round = round
            state.roundStart = now
            state.parts = [round.transaction]
            return round
        }
        guard let round else { return }
        guard let outbox = outbox as? any GroupingOutbox else { return performAlone(round) }
        outbox.commit(parts: { self.part($0) }, completion: { self.committed($0) })
    }

    /// Discards the waiting operations, whose calls fail. The loop takes no more outcomes: the calls of begun rounds
    /// end without it.
    func abandon() {
        let (waiting, ended) = state.withLock { state in
            defer {
                state.isAbandoned = true
                state.work = Round()
                // Rounds retain their rooms, which retain this object.
                state.stored = []
                if state.failed != nil { state.round = nil }
                state.failed = nil
            }
            let failed = state.failed.flatMap { outcome in state.round.map { ($0, outcome) } }
            return (state.work, state.stored.map { ($0, Outcome()) } + [failed].compactMap(\.self))
        }
        for (round, outcome) in ended { Self.end(round, outcome) }
        Self.end(waiting, Outcome(of: waiting, failure: .stopped))
        for read in waiting.reads { read.promise.resolve(.failure(MartletError.stopped)) }
    }

    /// Ends the calls of a round after the end of the loop's driver.
    private static func end(_ round: Round, _ outcome: Outcome) {
        for (index, addition) in round.additions.enumerated() {
            let counters = addition.entries.map(\.id.counter)
            guard let call = addition.acknowledgement else {
                for entry in addition.entries {
                    addition.room.stored([entry.id.counter], outcome.failures[entry.id])
                }
                continue
            }
            let failure = outcome.acknowledgementFailures[index]
            addition.room.stored(counters, failure)
            call.promise.resolve(
                failure.map(Result.failure)
                    ?? .success(counters.map { MessageHandle(room: addition.room, counter: $0) }))
        }
        for (index, edit) in round.edits.enumerated() {
            edit.promise.resolve(outcome.editFailures[index].map(Result.failure) ?? .success(true))
        }
        for promise in round.promises { promise.resolve(outcome.restFailure.map(Result.failure) ?? .success(())) }
    }

    // MARK: The round in progress

    /// Returns a transaction of the round in progress. The first call for an index takes the waiting operations if they
    /// may join the round; later calls return the same transaction.
    private func part(_ index: Int) -> OutboxTransaction? {
        state.withLock { state in
            if index < state.parts.count { return state.parts[index] }
            guard let count = state.round?.additionCount, count < Self.maxJoiningCount, !state.work.isEmpty else {
                return nil
            }
            let joining = state.takeWork()
            state.round?.append(joining)
            state.parts.append(joining.transaction)
            return state.parts.last
        }
    }

    /// Handles the result of the outbox, which has stored either all transactions of the round or none.
    private func committed(_ failure: (any Error)?) {
        guard let round = state.withLock({ $0.round }) else { return }
        guard failure == nil else { return performAlone(round) }
        guard round.reads.isEmpty else { return perform(round.reads) }
        finish(Outcome())
    }

    private func performAlone(_ round: Round) {
        mailbox.loop.startTask { [self, outbox] in finish(await Self.perform(round, on: outbox)) }
    }

    private func perform(_ reads: [Read]) {
        mailbox.loop.startTask { [self, outbox] in
            await Self.perform(reads, on: outbox)
            finish(Outcome())
        }
    }

    /// Posts the outcome of the round to the loop. The senders of a stored round are resumed at once; their next
    /// commands reach the loop after the outcome.
    private func finish(_ outcome: Outcome) {
        let now = Instant(nanoseconds: mailbox.loop.currentTime)
        var abandoned: Round?
        let (stored, posted) = state.withLock { state -> (Round?, Mailbox.Posted?) in
            if state.isAbandoned {
                abandoned = state.round.take()
                state.parts = []
                return (nil, nil)
            }
            guard outcome.isStored, let round = state.round else {
                state.failed = outcome
                return (nil, mailbox.append(.outbox(outcome)))
            }
            state.round = nil
            state.parts = []
            state.durations.record(nanoseconds: now.nanoseconds - min(state.roundStart.nanoseconds, now.nanoseconds))
            state.stored.append(round)
            return (round, mailbox.append(.outbox(outcome)))
        }
        if let abandoned { Self.end(abandoned, outcome) }
        for addition in stored?.additions ?? [] where addition.acknowledgement == nil {
            addition.room.stored(addition.entries.map(\.id.counter), nil)
        }
        posted?.wake()
        if stored != nil { begin() }
    }

    /// Ends a round whose outcome has arrived in the mailbox, and returns its operations.
    func finished(_ outcome: Outcome) -> Round {
        if outcome.isStored { return state.withLock { $0.stored.isEmpty ? Round() : $0.stored.removeFirst() } }
        let finished = state.withLock { state -> Round in
            var finished = state.round ?? Round()
            state.round = nil
            state.failed = nil
            state.parts = []
            if !outcome.editFailures.isEmpty {
                Self.noteReplaced(&finished.edits, outcome.editFailures, &state.work)
            }
            if outcome.restFailure != nil {
                state.kept = finished.rest
                // The callers of `discard` receive the error, so their changes are not repeated.
                state.kept.discarded = []
                let surplus = state.kept.outcomes.count - Self.maxKeptOutcomeCount
                if surplus > 0 { state.kept.outcomes.removeFirst(surplus) }
            }
            return finished
        }
        begin()
        return finished
    }

    /// Marks the failed edits that later edits have replaced. A waiting later edit receives the content before the
    /// failed edit as its earlier content.
    private static func noteReplaced(_ edits: inout [Edit], _ failures: [Int: MartletError], _ work: inout Round) {
        var stored: Set<MessageID> = []
        for index in edits.indices.reversed() {
            let id = edits[index].edit.id
            if failures[index] == nil {
                stored.insert(id)
            } else if stored.contains(id) {
                edits[index].isReplaced = true
            } else if let later = work.edits.firstIndex(where: { $0.edit.id == id }) {
                work.edits[later].earlier = edits[index].earlier
                edits[index].isReplaced = true
            }
        }
    }

    // MARK: Calls of the outbox

    private static func perform(_ round: Round, on outbox: any Outbox) async -> Outcome {
        var outcome = Outcome()
        let transaction = round.transaction
        if !transaction.isEmpty {
            do { try await outbox.commit(transaction) } catch {
                let failure = MartletError(outbox: error)
                if round.hasAdditions {
                    outcome.restFailure = await commit(round.rest, to: outbox)
                    await commit(round.changes[...], after: failure, to: outbox, &outcome)
                } else {
                    outcome.restFailure = failure
                }
            }
        }
        await perform(round.reads, on: outbox)
        return outcome
    }

    private static func perform(_ reads: [Read], on outbox: any Outbox) async {
        for read in reads {
            do { read.promise.resolve(.success(try await outbox.deadLetters(in: read.room.name))) } catch {
                read.promise.resolve(.failure(MartletError(outbox: error)))
            }
        }
    }

    /// Divides changes that were refused together, and stores each half separately, until each refused change is alone.
    /// Changes that failed for another reason are not repeated.
    private static func commit(
        _ changes: ArraySlice<Change>, after failure: MartletError, to outbox: any Outbox, _ outcome: inout Outcome
    ) async {
        guard failure.isRefusalByOutbox, changes.count > 1 else {
            for change in changes {
                switch change {
                case .message(let entry, _): outcome.failures[entry.id] = failure
                case .acknowledgement(_, _, _, let index): outcome.acknowledgementFailures[index] = failure
                case .edit(_, let index): outcome.editFailures[index] = failure
                }
            }
            return
        }
        let middle = changes.startIndex + changes.count / 2
        for half in [changes[..<middle], changes[middle...]] {
            var transaction = OutboxTransaction()
            for change in half { change.add(to: &transaction) }
            do { try await outbox.commit(transaction) } catch {
                await commit(half, after: MartletError(outbox: error), to: outbox, &outcome)
            }
        }
    }

    private static func commit(_ rest: OutboxTransaction, to outbox: any Outbox) async -> MartletError? {
        guard !rest.isEmpty else { return nil }
        do { try await outbox.commit(rest) } catch { return MartletError(outbox: error) }
        return nil
    }
}

extension MartletError {
    /// The error of a method of an outbox.
    init(outbox error: any Error) {
        self = error as? MartletError ?? .outboxFailed("\(error)", underlying: error)
    }

    /// Whether an outbox refuses a change with this error and stores others.
    fileprivate var isRefusalByOutbox: Bool {
        switch self {
        case .outboxFull, .unknownDeadLetter: true
        default: false
        }
    }
}
