import MartletProtocol
import MartletWire

/// A queue of operations on an outbox. One operation is in progress at a time; operations that arrive meanwhile are
/// combined into the next round, which is one transaction (C-74). If the outbox refuses a message or an edit of a
/// round, the others are stored in smaller transactions (C-78). The queue belongs to the loop.
///
/// Its size is bounded: messages and marks by the limits of the rooms, edits and calls by their callers, cursors by the
/// rooms, and outcomes that could not be stored by ``maxKeptOutcomeCount``.
final class OutboxWriter {
    /// The maximum number of outcomes that could not be stored and are kept for the next round. Beyond it, the oldest
    /// ones are discarded, and the next client sends those messages again.
    static let maxKeptOutcomeCount = 65_536

    /// Messages of one room to be stored, and the dead letters that some of them replace.
    struct Addition: Sendable {
        let room: RoomCore
        let entries: [OutboxEntry]
        var replaced: [MessageID: MessageID] = [:]
        /// The acknowledgement whose replies are the messages; all of them are stored or none.
        var acknowledgement: Acknowledgement?

        /// The errors of the messages that replace dead letters which the outbox does not have (C-77).
        func unknownLetters(in outbox: any ImmediateOutbox) -> [MessageID: MartletError] {
            guard !replaced.isEmpty else { return [:] }
            let known = Set(outbox.deadLetters(in: room.name.text).map(\.id))
            return replaced.filter { !known.contains($0.value) }.mapValues { _ in .unknownDeadLetter }
        }
    }

    /// An edit of a message, and its earlier content.
    struct Edit: Sendable {
        let room: RoomCore
        let edit: OutboxEdit
        var earlier: MessageContent
        let promise: Promise<Bool>
        /// Whether the edit has failed and a later one has replaced its content.
        var isReplaced = false
    }

    /// A call that reads, after the transaction.
    struct Read: Sendable {
        let room: RoomCore
        let promise: Promise<[DeadLetter]>
    }

    /// The result of one round.
    struct Outcome: Sendable {
        /// The errors of the messages that were not stored.
        var failures: [MessageID: MartletError] = [:]
        /// The errors of the acknowledgements that were not stored, by the positions of their additions in the round.
        var acknowledgementFailures: [Int: MartletError] = [:]
        /// The errors of the edits that were not stored, by their positions in the round.
        var editFailures: [Int: MartletError] = [:]
        /// The error of the other changes.
        var restFailure: MartletError?
    }

    /// The operations of one round.
    struct Round: Sendable {
        var additions: [Addition] = []
        var edits: [Edit] = []
        /// Changes other than messages and edits.
        var rest = OutboxTransaction()
        /// The callers that wait for `rest`.
        var promises: [Promise<Void>] = []
        var reads: [Read] = []

        var isEmpty: Bool { !hasAdditions && rest.isEmpty && reads.isEmpty }
        var hasAdditions: Bool { !additions.isEmpty || !edits.isEmpty }

        fileprivate var transaction: OutboxTransaction {
            var transaction = OutboxTransaction()
            for change in changes { change.add(to: &transaction) }
            transaction.append(rest)
            return transaction
        }

        /// The messages and edits in their order.
        fileprivate var changes: [Change] {
            additions.enumerated().flatMap { index, addition -> [Change] in
                if let cursor = addition.acknowledgement?.cursor {
                    return [.acknowledgement(addition.entries, addition.room.name.text, cursor, index: index)]
                }
                return addition.entries.map { .message($0, replacing: addition.replaced[$0.id]) }
            } + edits.enumerated().map { .edit($1.edit, index: $0) }
        }
    }

    /// A message, an acknowledgement or an edit, which the outbox stores or refuses by itself.
    fileprivate enum Change: Sendable {
        case message(OutboxEntry, replacing: MessageID?)
        case acknowledgement([OutboxEntry], String, RoomCursor, index: Int)
        case edit(OutboxEdit, index: Int)

        func add(to transaction: inout OutboxTransaction) {
            switch self {
            case .message(let entry, let letter):
                transaction.appended.append(entry)
                transaction.replaced[entry.id] = letter
            case .acknowledgement(let replies, let room, let cursor, _):
                transaction.appended += replies
                transaction.cursors[room].advance(to: cursor)
            case .edit(let edit, _): transaction.edits.append(edit)
            }
        }
    }

    private let outbox: any Outbox
    private let mailbox: Mailbox
    /// The operations of the next round.
    private var work = Round()
    /// The operations in progress.
    private var round: Round?
    /// Changes that could not be stored.
    private var kept = OutboxTransaction()

    init(_ outbox: any Outbox, mailbox: Mailbox) {
        self.outbox = outbox
        self.mailbox = mailbox
    }

    var isIdle: Bool { round == nil && work.isEmpty }

    /// Whether outcomes of messages wait for a transaction, or are part of the one in progress.
    var hasOutcomes: Bool { !work.rest.outcomes.isEmpty || round?.rest.outcomes.isEmpty == false }

    /// Adds operations to the next round.
    func add(_ body: (inout Round) -> Void) {
        body(&work)
        begin()
    }

    /// Attempts once more to store what could not be stored.
    func retry() {
        guard !kept.isEmpty, round == nil else { return }
        work.rest.append(OutboxTransaction())
        begin(always: true)
    }

    /// Ends a round whose outcome has arrived in the mailbox, and returns its operations.
    func finished(_ outcome: Outcome) -> Round {
        var finished = round ?? Round()
        round = nil
        if !outcome.editFailures.isEmpty { noteReplaced(&finished.edits, outcome.editFailures) }
        if outcome.restFailure != nil {
            kept = finished.rest
            // Their callers receive the error.
            kept.discarded = []
            let surplus = kept.outcomes.count - Self.maxKeptOutcomeCount
            if surplus > 0 { kept.outcomes.removeFirst(surplus) }
        }
        begin()
        return finished
    }

    /// Notes which of the failed edits later ones have replaced. A later edit that waits has the content before the
    /// failed one as its earlier content.
    private func noteReplaced(_ edits: inout [Edit], _ failures: [Int: MartletError]) {
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

    /// Discards the operations of the next round.
    func abandon() {
        for promise in work.promises { promise.resolve(.failure(MartletError.stopped)) }
        for read in work.reads + (round?.reads ?? []) { read.promise.resolve(.failure(MartletError.stopped)) }
        for promise in round?.promises ?? [] { promise.resolve(.failure(MartletError.stopped)) }
        for addition in work.additions + (round?.additions ?? []) {
            addition.acknowledgement?.promise.resolve(.failure(MartletError.stopped))
        }
        for edit in work.edits + (round?.edits ?? []) { edit.promise.resolve(.failure(MartletError.stopped)) }
        work = Round()
    }

    private func begin(always: Bool = false) {
        guard round == nil, always || !work.isEmpty else { return }
        var round = work
        round.rest = kept
        round.rest.append(work.rest)
        self.round = round
        work = Round()
        kept = OutboxTransaction()
        mailbox.loop.startTask { [outbox, mailbox, round] in
            mailbox.post(.outbox(await OutboxWriter.perform(round, on: outbox)))
        }
    }

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
        for read in round.reads {
            do { read.promise.resolve(.success(try await outbox.deadLetters(in: read.room.name.text))) } catch {
                read.promise.resolve(.failure(MartletError(outbox: error)))
            }
        }
        return outcome
    }

    /// Stores the halves of changes that were refused together, until those that are refused are alone. Changes that
    /// have failed for another reason are not attempted again.
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

extension OutboxEntry {
    /// - Parameter now: The time in milliseconds since 1970.
    init(_ message: MessageLedger.Pending, in room: RoomCore, isInFlight: Bool, now: UInt64) {
        let lifetime = message.timeToLive.map { UInt64(min(max($0 / .milliseconds(1), 0), 1e15)) }
        self.init(
            id: MessageID(sender: room.account, device: room.device, counter: message.counter), room: room.name.text,
            content: message.content, timeToLive: message.timeToLive,
            expiresAt: lifetime.map { now + $0 },
            isCompressible: message.isCompressible, inFlightSince: isInFlight ? now : nil)
    }
}

/// An outbox with or without a queue of operations.
enum OutboxPort {
    case immediate(any ImmediateOutbox)
    case queued(OutboxWriter)

    /// Stores changes other than messages and edits.
    func commit(_ body: (inout OutboxTransaction) -> Void) {
        switch self {
        case .immediate(let outbox):
            var transaction = OutboxTransaction()
            body(&transaction)
            outbox.commit(transaction)
        case .queued(let writer): writer.add { body(&$0.rest) }
        }
    }

    func retry() {
        if case .queued(let writer) = self { writer.retry() }
    }

    func abandon() {
        if case .queued(let writer) = self { writer.abandon() }
    }

    var hasOutcomes: Bool {
        if case .queued(let writer) = self { writer.hasOutcomes } else { false }
    }

    var isIdle: Bool {
        switch self {
        case .immediate: true
        case .queued(let writer): writer.isIdle
        }
    }
}
