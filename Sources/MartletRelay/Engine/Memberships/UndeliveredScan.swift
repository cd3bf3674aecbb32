import MartletLink
import MartletWire

/// When the accounts of a room are reported that have not received its messages.
///
/// | state | owns | ends |
/// |---|---|---|
/// | idle | the offset up to which messages were delivered or reported | a message is durable |
/// | scheduled | the same, an instant, the last offset at that time | `step`, when the instant has passed |
///
/// Without joined accounts no scan is scheduled. One offset suffices for all accounts: at a scan an account is
/// reported, or has received the messages.
struct UndeliveredScan: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<UndeliveredScan>()
    private var reportedOffset: UInt64 = 0
    private var scheduled: (at: Instant, lastOffset: UInt64)?

    /// The instant of the scan; nil if none is scheduled.
    var deadline: Instant? { scheduled?.at }

    /// Begins with a log of which everything counts as reported.
    mutating func begin(at offset: UInt64) { self = UndeliveredScan(reportedOffset: offset) }

    /// Takes the offsets of the scan that is due, and schedules the next one.
    ///
    /// - Parameters:
    ///   - lastOffset: The highest durable offset.
    ///   - delay: The duration until a scan.
    ///   - hasJoined: Whether any account has joined.
    /// - Returns: The offsets about which absent accounts are reported; nil if no scan is due.
    mutating func step(
        lastOffset: UInt64, delay: Duration, hasJoined: @autoclosure () -> Bool, now: Instant
    ) -> ClosedRange<UInt64>? {
        if let scheduled, scheduled.at > now { return nil }
        guard lastOffset > reportedOffset, hasJoined() else {
            begin(at: lastOffset)
            return nil
        }
        let due = scheduled.map { reportedOffset + 1...$0.lastOffset }
        begin(at: due?.upperBound ?? reportedOffset)
        if lastOffset > reportedOffset { scheduled = (now + delay, lastOffset) }
        return due
    }

    /// Checks that no scan is scheduled.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("scans for undelivered messages", scheduled != nil, false)
    }
}
