/// The result of a run of ``Simulation`` or ``ClientLives``.
package struct RunResult: Sendable {
    /// The seed.
    package var seed: UInt64
    /// A hash of everything that the applications observed, with times. The same seed gives the same hash.
    package var traceHash: UInt64 = 0
    /// The observations as lines, on request.
    package var trace: [String] = []
    /// Violations, at most `Ledger.maxViolations`; none if the run was cancelled.
    package var violations: [Violation] = []
    /// Whether the task was cancelled before the end of the run.
    package var wasCancelled = false
    /// The duration in virtual time; of lives, that of all devices.
    package var virtualTime = Duration.zero
    /// Sent messages with a text.
    package var messageCount = 0
    /// Deliveries on all devices.
    package var deliveryCount = 0
    /// Faults in the scenario.
    package var faultCount = 0
    /// Established connections.
    package var connectionCount = 0

    // MARK: - Simulations

    /// Requests answered by another member.
    package var answerCount = 0
    /// Pages of history with messages.
    package var pageCount = 0
    /// Completed transfers of attachments.
    package var transferCount = 0
    /// The flight recordings of the devices at the end, on request.
    package var recordings: [[UInt8]] = []
    /// Completed handshakes of TLS.
    package var handshakeCount = 0
    /// Handshakes of TLS that resumed a session.
    package var resumptionCount = 0
    /// The virtual time from the end of the last fault until everything arrived.
    package var settlingTime = Duration.zero

    // MARK: - Lives

    /// Clients.
    package var lifeCount = 0
    /// Calls of the public API.
    package var callCount = 0

    /// Creates a result without observations.
    package init(seed: UInt64) {
        self.seed = seed
    }
}
