/// How many bytes of bulk a link keeps in flight: a delay-based window in the manner of LEDBAT (RFC 6817).
///
/// A carrier that is a stream accepts megabytes into buffers on the way and a typed line would wait behind them. So the
/// normal and low classes keep only as much in flight as fills the path plus `targetDelay` of queue: the window grows
/// while the measured queueing delay (RTT minus the lowest RTT seen) is below the target and shrinks above it. Urgent
/// and high traffic is not held back.
struct FlightWindow: Equatable, Sendable {
    /// Queueing delay that bulk may cause on the way. RFC 6817 §2.5 allows up to 100 ms; a typed line has to fit in
    /// that.
    static let targetDelay: Duration = .milliseconds(30)
    /// The window never falls below this many bytes, so that bulk always moves.
    static let minimumByteCount = 32 * 1024
    /// The window never rises above this many bytes.
    static let maximumByteCount = 8 * 1024 * 1024
    /// RTT samples older than this no longer count as the path's lowest (RFC 6817 §3.4.2 keeps minutes; routes change).
    static let baseHistory: Duration = .seconds(60)

    private(set) var byteCount = 64 * 1024
    private(set) var inFlight = 0
    private var baseRTT: Duration?
    private var previousBaseRTT: Duration?
    private var baseEpochStart = Instant.zero
    private var lastDecrease = Instant.zero
    private var isProbing = true

    var hasRoom: Bool { inFlight < byteCount }

    mutating func sent(_ bytes: Int) {
        inFlight += bytes
    }

    mutating func abandoned(_ bytes: Int) {
        inFlight = max(0, inFlight - bytes)
    }

    /// Nothing was acknowledged for a whole timeout: what is known of the path no longer holds (RFC 9002 §7.6).
    mutating func collapse() {
        byteCount = FlightWindow.minimumByteCount
        isProbing = true
    }

    /// Accounts acknowledged bytes; the window only grows when it was what held the sender back.
    mutating func acknowledged(_ bytes: Int, rtt: Duration?, now: Instant) {
        let wasLimited = inFlight + FlightWindow.minimumByteCount >= byteCount
        inFlight = max(0, inFlight - bytes)
        guard let rtt else { return }
        observeBase(rtt, now: now)
        guard bytes > 0, let base = base else { return }
        let queueing = rtt - base
        if queueing > FlightWindow.targetDelay {
            isProbing = false
            // Once per round trip: what is in flight was sent under the window that is being corrected.
            guard now - lastDecrease > rtt else { return }
            lastDecrease = now
            let ratio = max(Int64(2), 4 * queueing.nanoseconds / max(FlightWindow.targetDelay.nanoseconds, 1))
            byteCount -= byteCount * Int(min(ratio, 16)) / 32
        } else if wasLimited {
            // Doubling per round trip until the first sign of a queue, then a fragment per window.
            byteCount += isProbing ? bytes : max(1, bytes * 16 * 1024 / max(byteCount, 1))
        }
        byteCount = min(max(byteCount, FlightWindow.minimumByteCount), FlightWindow.maximumByteCount)
    }

    /// A new connection is a new path: nothing is in flight on it and nothing is known of it.
    mutating func reset() {
        self = FlightWindow()
    }

    private var base: Duration? {
        switch (baseRTT, previousBaseRTT) {
        case (let current?, let previous?): min(current, previous)
        case (let current, let previous): current ?? previous
        }
    }

    private mutating func observeBase(_ rtt: Duration, now: Instant) {
        if now - baseEpochStart > FlightWindow.baseHistory {
            previousBaseRTT = baseRTT
            baseRTT = nil
            baseEpochStart = now
        }
        baseRTT = min(baseRTT ?? rtt, rtt)
    }
}
