import MartletProtocol
import MartletWire

/// A queue of operations on an outbox. One operation is in progress at a time; operations that arrive meanwhile are
/// combined into the next round, which is one transaction (C-74). The queue belongs to the loop.
///
/// Its size is bounded: messages and marks by the limits of the rooms, edits and calls by their callers, cursors by the
/// rooms, and outcomes that could not be stored by ``maxKeptOutcomeCount``.
final class OutboxWriter {
    /// The maximum number of outcomes that could not be stored and are kept for the next round. Beyond it, the oldest
    /// ones are discarded, and the next client sends those messages again.
    static let maxKeptOutcomeCount = 65_536

    /// Messages of one room to be stored, and the dead letters that they replace.
    struct Addition: Sendable {
        let room: RoomCore
        let entries: [OutboxEntry]
        var replaced: [MessageID] = []
    }

    /// An edit of a message, and its earlier content.
    struct Edit: Sendable {
        let room: RoomCore
        let edit: OutboxEdit
        let earlier: MessageContent
        let promise: Promise<Bool>
    }

    /// A call that reads, after the transaction.
    struct Read: Sendable {
        let room: RoomCore
        let promise: Promise<[DeadLetter]>
    }

    /// The result of one round.
    struct Outcome: Sendable {
        /// The error of the messages and edits, none of which was stored; nil after success.
        var failure: MartletError?
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
            transaction.appended = additions.flatMap(\.entries)
            transaction.edits = edits.map(\.edit)
            transaction.discarded = additions.flatMap(\.replaced)
            transaction.append(rest)
            return transaction
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
        let finished = round ?? Round()
        round = nil
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

    /// Discards the operations of the next round.
    func abandon() {
        for promise in work.promises { promise.resolve(.failure(MartletError.stopped)) }
        for read in work.reads + (round?.reads ?? []) { read.promise.resolve(.failure(MartletError.stopped)) }
        for promise in round?.promises ?? [] { promise.resolve(.failure(MartletError.stopped)) }
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
        Task { [outbox, mailbox] in
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
                    outcome.failure = failure
                    outcome.restFailure = await commit(round.rest, to: outbox)
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

    private static func commit(_ rest: OutboxTransaction, to outbox: any Outbox) async -> MartletError? {
        guard !rest.isEmpty else { return nil }
        do { try await outbox.commit(rest) } catch { return MartletError(outbox: error) }
        return nil
    }
}

extension MartletError {
    /// The error of a method of an outbox.
    init(outbox error: any Error) {
        self = error as? MartletError ?? .outboxFailed("\(error)")
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
            isCompressible: message.isCompressible, isInFlight: isInFlight)
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

    var isIdle: Bool {
        switch self {
        case .immediate: true
        case .queued(let writer): writer.isIdle
        }
    }
}
