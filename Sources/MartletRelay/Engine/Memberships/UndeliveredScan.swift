import MartletLink
import MartletWire

/// When the accounts of a room are reported that have not received its messages, and which messages of this relay the
/// report concerns.
///
/// | state | owns | ends |
/// |---|---|---|
/// | idle | nothing | the store has messages of this relay |
/// | scheduled | an instant, the offsets of the scan, and those that have followed | `step`, when the instant has passed |
///
/// Without joined accounts no scan is scheduled. No account has offsets of its own: at a scan an account is reported,
/// or has received the messages.
struct UndeliveredScan: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<UndeliveredScan>()
    /// The maximum number of ranges of offsets of a scan. Beyond it the oldest are left out.
    static let maxRangeCount = 256

    private var scheduled: (at: Instant, runs: [ClosedRange<UInt64>])?
    private var following: [ClosedRange<UInt64>] = []

    init() {}

    /// The instant of the scan; nil if none is scheduled.
    var deadline: Instant? { scheduled?.at }

    /// The runs of offsets of the scan and those that have followed.
    var runs: [ClosedRange<UInt64>] { (scheduled?.runs ?? []) + following }

    /// Bytes of the ranges.
    var byteCount: Int {
        ((scheduled?.runs.count ?? 0) + following.count) * MemoryLayout<ClosedRange<UInt64>>.stride
    }

    /// The store has messages of this relay, behind all earlier ones.
    mutating func note(_ offsets: ClosedRange<UInt64>) {
        if let last = following.last, last.upperBound &+ 1 == offsets.lowerBound {
            following[following.count - 1] = last.lowerBound...offsets.upperBound
        } else {
            if following.count == Self.maxRangeCount { following.removeFirst() }
            following.append(offsets)
        }
    }

    /// Takes the offsets of the scan that is due, and schedules the next one.
    ///
    /// - Parameters:
    ///   - delay: The duration until a scan.
    ///   - hasJoined: Whether any account has joined.
    /// - Returns: The ranges about which absent accounts are reported, in their order; none if no scan is due.
    mutating func step(delay: Duration, hasJoined: Bool, now: Instant) -> [ClosedRange<UInt64>] {
        if let scheduled, scheduled.at > now { return [] }
        let due = scheduled?.runs ?? []
        scheduled = nil
        guard hasJoined else {
            following = []
            return []
        }
        if !following.isEmpty { scheduled = (now + delay, following) }
        following = []
        return due
    }

    /// Checks that no scan is scheduled.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("scans for undelivered messages", scheduled != nil, false)
    }
}
