import MartletProtocol
import MartletWire

/// Gives an outbox its work, one call after the other, each with all that has come together meanwhile. On the loop
/// only.
///
/// What waits is bounded: messages by their rooms' bounds, removals by the messages, cursors by the rooms.
final class OutboxWriter {
    /// A message on its way into the outbox.
    struct Appending: Sendable {
        let room: RoomCore
        let arriving: OutgoingQueue.Arriving
    }

    /// What became of one round of work.
    struct Outcome: Sendable {
        var appended: [Appending]
        /// What the outbox's error says; then none was appended.
        var appendFailure: String?
        /// Removals and cursors that failed.
        var failureCount: UInt64 = 0
    }

    private struct Work: Sendable {
        var appends: [Appending] = []
        var removals: [String: [MessageID]] = [:]
        var cursors: [String: RoomCursor] = [:]

        var isEmpty: Bool { appends.isEmpty && removals.isEmpty && cursors.isEmpty }
    }

    private let outbox: any Outbox
    private let mailbox: Mailbox
    private var work = Work()
    private var isWorking = false

    init(_ outbox: any Outbox, mailbox: Mailbox) {
        self.outbox = outbox
        self.mailbox = mailbox
    }

    var isIdle: Bool { !isWorking && work.isEmpty }

    func append(_ messages: [Appending]) {
        work.appends += messages
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

    /// A round is over: its outcome has come through the mailbox.
    func finished() {
        isWorking = false
        begin()
    }

    private func begin() {
        guard !isWorking, !work.isEmpty else { return }
        isWorking = true
        let round = work
        work = Work()
        Task { [outbox, mailbox] in
            mailbox.post(.outbox(await OutboxWriter.perform(round, on: outbox)))
        }
    }

    private static func perform(_ work: Work, on outbox: any Outbox) async -> Outcome {
        var outcome = Outcome(appended: work.appends)
        if !work.appends.isEmpty {
            do { try await outbox.append(work.appends.map(OutboxEntry.init)) } catch {
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
    init(_ appending: OutboxWriter.Appending) {
        self.init(appending.arriving, in: appending.room)
    }

    init(_ arriving: OutgoingQueue.Arriving, in room: RoomCore) {
        self.init(
            id: MessageID(sender: room.account, device: room.device, counter: arriving.counter), room: room.name.text,
            content: arriving.message.content, timeToLive: arriving.message.timeToLive,
            isCompressible: arriving.message.isCompressible)
    }
}

/// Either kind of outbox, as the driver uses it.
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

    var isIdle: Bool {
        switch self {
        case .immediate: true
        case .queued(let writer): writer.isIdle
        }
    }
}
