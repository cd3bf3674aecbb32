import Martlet
import MartletLink
import MartletSQLite
import MartletSimulator
import MartletWire

/// The outbox in a file behind a simulated device, in a temporary folder.
final class SimulationOutbox: SimulatedOutbox {
    private let folder = SimulationFolder()
    private var file: OutboxConnection?

    private func open() throws -> OutboxConnection {
        if let file { return file }
        let opened = try OutboxConnection(path: folder.file("outbox"))
        file = opened
        return opened
    }

    func commit(_ changes: SimulatedOutboxChanges) throws {
        let file = try open()
        func id(_ counter: UInt64) -> MessageID {
            MessageID(sender: changes.sender, device: file.device, counter: counter)
        }
        var transaction = OutboxTransaction()
        transaction.appended = changes.appended.map {
            OutboxEntry(id: id($0.counter), room: $0.room, content: MessageContent(text: $0.text))
        }
        // The file does not need the name of an outcome's room.
        transaction.outcomes = changes.accepted.map {
            OutboxOutcome(id: id($0), room: "unknown", result: .accepted(offset: $0))
        }
        for (room, cursor) in changes.cursors { transaction.cursors[room] = cursor }
        try file.commit(transaction, now: 0)
    }

    func reopen(as sender: AccountName) throws -> SimulatedOutboxState {
        file = nil
        let state = try open().load()
        let pending = state.pending.map {
            SimulatedOutboxChanges.Message(counter: $0.id.counter, room: $0.room, text: $0.content.text ?? "")
        }
        return SimulatedOutboxState(pending: pending, cursors: state.cursors)
    }
}
