import MartletLink

/// Takes reports of messages that were not delivered to accounts that have joined their room.
///
/// A report is for accounts without a device that currently receives messages, for example phones that a push gateway
/// can wake.
public protocol UndeliveredHandler: Sendable {
    /// Takes a report.
    ///
    /// A loop has at most 16 calls in progress; further reports wait. The task is cancelled when the relay
    /// shuts down.
    ///
    /// - Throws: Any error, which is reported as `RelayEvent.undeliveredFailed`. The report is not repeated.
    func report(_ report: UndeliveredReport) async throws
}
