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

    var device: DeviceID {
        get throws { try open().device }
    }

    func commit(_ changes: OutboxTransaction) throws { try open().commit(changes, now: 0) }

    func reopen() throws -> OutboxState {
        file = nil
        return try open().load()
    }
}
