package import Martlet
import MartletDatabase
package import MartletWire

/// An outbox on one connection of the caller's thread, for simulations and tests. Each call is a transaction.
package final class OutboxConnection {
    private let tables: OutboxTables

    /// Opens the file at `path`, or creates it.
    package init(path: String, options: SQLiteOutbox.Options = .init()) throws {
        tables = try OutboxFile(path: path, options: options).open()
    }

    package var device: DeviceID { tables.device }

    package func load() throws -> OutboxState { try tables.load() }

    package func commit(_ transaction: OutboxTransaction, now: UInt64) throws {
        try tables.transaction { try tables.commit(transaction, now: now) }
    }

    package func deadLetters(in room: RoomName) throws -> [DeadLetter] { try tables.deadLetters(in: room) }
}
