package import Martlet
package import MartletWire

/// The durable outbox of a simulated device. After a crash of the process, its contents are compared with the device's
/// virtual disk. An error of a call ends the simulation.
package protocol SimulatedOutbox: AnyObject {
    /// The device of the messages.
    var device: DeviceID { get throws }
    /// Stores changes durably, all of them or none.
    func commit(_ changes: OutboxTransaction) throws
    /// Opens the outbox again after a crash of the process, and returns its contents.
    func reopen() throws -> OutboxState
}
