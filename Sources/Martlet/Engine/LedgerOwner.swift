import MartletLink

/// The owner of a room's ledger, which the engine uses too.
///
/// A client's room protects its ledger by its own lock, so that `send` needs no turn of the loop. The engine calls
/// `withLedger` in its events only, and does nothing else meanwhile.
package protocol LedgerOwner: AnyObject {
    /// Calls `body` with exclusive access to the ledger.
    func withLedger<Value: Sendable, Failure: Error>(
        _ body: (inout MessageLedger) throws(Failure) -> Value
    ) throws(Failure) -> Value
}

/// The owner of a ledger that only the engine uses.
final class EngineLedger: LedgerOwner {
    private var ledger: MessageLedger

    init(_ configuration: ClientConfiguration) {
        ledger = MessageLedger(
            maxCount: configuration.maxPendingMessages, maxByteCount: configuration.maxPendingByteCount)
    }

    func withLedger<Value: Sendable, Failure: Error>(
        _ body: (inout MessageLedger) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(&ledger)
    }
}
