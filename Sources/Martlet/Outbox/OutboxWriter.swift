import MartletProtocol
import MartletWire

/// A queue of operations on an outbox. One operation is in progress at a time; operations that arrive meanwhile are
/// combined into the next round. The queue belongs to the loop.
///
/// Its size is bounded: messages by the limits of the rooms, removals by the messages, cursors by the rooms.
final class OutboxWriter {
    /// Messages of one room to be stored.
    struct Append: Sendable {
        let room: RoomCore
        let entries: [OutboxEntry]
    }

    /// The result of one round.
    struct Outcome: Sendable {
        /// The error of `append`, which stored no message; nil after success.
        var appendFailure: String?
        /// The number of failed removals and cursors.
        var failureCount: UInt64 = 0
    }

    private struct Work: Sendable {
        var appends: [Append] = []
        var removals: [String: [MessageID]] = [:]
        var cursors: [String: RoomCursor] = [:]

        var isEmpty: Bool { appends.isEmpty && removals.isEmpty && cursors.isEmpty }
    }

    private let outbox: any Outbox
    private let mailbox: Mailbox
    /// The operations of the next round.
    private var work = Work()
    /// The operations in progress.
    private var round: Work?

    init(_ outbox: any Outbox, mailbox: Mailbox) {
        self.outbox = outbox
        self.mailbox = mailbox
    }

    var isIdle: Bool { round == nil && work.isEmpty }

    func append(_ entries: [OutboxEntry], of room: RoomCore) {
        work.appends.append(Append(room: room, entries: entries))
        begin()
    }

    func remove(_ ids: [MessageID], room: String) {
        work.removals[room, default: []] += ids
        begin()
    }

    func saveCursor(_ cursor: RoomCursor, room: String) {
        work.cursors[room] = cursor
        begin()
    }

    /// Ends a round whose outcome has arrived in the mailbox, and returns its messages.
    func finished() -> [Append] {
        let appended = round?.appends ?? []
        round = nil
        begin()
        return appended
    }

    /// Discards the operations of the next round.
    func abandon() {
        work = Work()
    }

    private func begin() {
        guard round == nil, !work.isEmpty else { return }
        let round = work
        self.round = round
        work = Work()
        Task { [outbox, mailbox] in
            mailbox.post(.outbox(await OutboxWriter.perform(round, on: outbox)))
        }
    }

    private static func perform(_ work: Work, on outbox: any Outbox) async -> Outcome {
        var outcome = Outcome()
        if !work.appends.isEmpty {
            do { try await outbox.append(work.appends.flatMap(\.entries)) } catch {
                outcome.appendFailure = "\(error)"
            }
        }
        for (room, ids) in work.removals {
            do { try await outbox.remove(ids, room: room) } catch { outcome.failureCount += 1 }
        }
        for (room, cursor) in work.cursors {
            do { try await outbox.saveCursor(cursor, room: room) } catch { outcome.failureCount += 1 }
        }
        return outcome
    }
}

extension OutboxEntry {
    init(_ message: MessageLedger.Pending, in room: RoomCore) {
        self.init(
            id: MessageID(sender: room.account, device: room.device, counter: message.counter), room: room.name.text,
            content: message.content, timeToLive: message.timeToLive, isCompressible: message.isCompressible)
    }
}

/// An outbox with or without a queue of operations.
enum OutboxPort {
    case immediate(any ImmediateOutbox)
    case queued(OutboxWriter)

    func remove(_ ids: [MessageID], room: String) {
        switch self {
        case .immediate(let outbox): outbox.remove(ids, room: room)
        case .queued(let writer): writer.remove(ids, room: room)
        }
    }

    func saveCursor(_ cursor: RoomCursor, room: String) {
        switch self {
        case .immediate(let outbox): outbox.saveCursor(cursor, room: room)
        case .queued(let writer): writer.saveCursor(cursor, room: room)
        }
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
