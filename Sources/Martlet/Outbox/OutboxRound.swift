import MartletLink
import MartletTransport
import MartletWire

/// The operations on an outbox that are stored in one transaction, and their results.
extension OutboxWriter {
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
            let known = Set(outbox.deadLetters(in: room.name).map(\.id))
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

        init() {}

        /// The failure of all operations of a round.
        init(of round: Round, failure: MartletError) {
            for (index, addition) in round.additions.enumerated() {
                for entry in addition.entries { failures[entry.id] = failure }
                acknowledgementFailures[index] = failure
            }
            for index in round.edits.indices { editFailures[index] = failure }
            restFailure = failure
        }

        /// Whether everything was stored.
        var isStored: Bool {
            failures.isEmpty && acknowledgementFailures.isEmpty && editFailures.isEmpty && restFailure == nil
        }
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
        /// The number of messages of rooms and of edits.
        var additionCount: Int { additions.count + edits.count }
        var hasAdditions: Bool { !additions.isEmpty || !edits.isEmpty }

        /// Adds the operations of a later round.
        mutating func append(_ later: Round) {
            additions += later.additions
            edits += later.edits
            rest.append(later.rest)
            promises += later.promises
            reads += later.reads
        }

        var transaction: OutboxTransaction {
            var transaction = OutboxTransaction()
            for change in changes { change.add(to: &transaction) }
            transaction.append(rest)
            return transaction
        }

        /// The messages and edits in their order.
        var changes: [Change] {
            additions.enumerated().flatMap { index, addition -> [Change] in
                if let cursor = addition.acknowledgement?.cursor {
                    return [.acknowledgement(addition.entries, addition.room.name, cursor, index: index)]
                }
                return addition.entries.map { .message($0, replacing: addition.replaced[$0.id]) }
            } + edits.enumerated().map { .edit($1.edit, index: $0) }
        }
    }

    /// A message, an acknowledgement or an edit, which the outbox stores or refuses by itself.
    enum Change: Sendable {
        case message(OutboxEntry, replacing: MessageID?)
        case acknowledgement([OutboxEntry], RoomName, RoomCursor, index: Int)
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
}

extension OutboxEntry {
    /// - Parameters:
    ///   - files: The files of the room that are not uploaded, behind which no message is in flight.
    ///   - now: The time in milliseconds since 1970.
    init(
        _ message: MessageLedger.Pending, in room: RoomCore, _ files: MessageFiles, isInFlight: Bool, now: UInt64
    ) {
        let lifetime = message.timeToLive.map { UInt64(min(max($0 / .milliseconds(1), 0), 1e15)) }
        self.init(
            id: room.messageID(message.counter), room: room.name,
            content: message.content, timeToLive: message.timeToLive,
            expiresAt: lifetime.map { now + $0 },
            isCompressible: message.isCompressible, inFlightSince: isInFlight && files.isEmpty ? now : nil,
            file: files[message.counter]?.path)
    }
}
