/// How many bytes of bulk a link keeps in flight, and when: a delay-based window in the manner of LEDBAT (RFC 6817),
/// paced (RFC 9002 §7.7; S-50).
///
/// A carrier that is a stream accepts megabytes into buffers on the way and a typed line would wait behind them. So the
/// normal and low classes keep only as much in flight as fills the path plus `targetDelay` of queue: the window grows
/// while the measured queueing delay (RTT minus the lowest RTT seen) is below the target and shrinks above it. Within a
/// round trip the window is spread evenly, or what acknowledgements let go at once would be a queue of its own. Urgent
/// and high traffic is not held back.
struct FlightWindow: Equatable, Sendable {
    /// Queueing delay that bulk may cause on the way. RFC 6817 §2.5 allows up to 100 ms; a typed line has to fit in
    /// that.
    static let targetDelay: Duration = .milliseconds(30)
    /// The window never falls below this many bytes, so that bulk always moves.
    static let minimumByteCount = 16 * 1024
    /// What a new path is trusted with, in bytes.
    static let initialByteCount = 48 * 1024
    /// The window never rises above this many bytes.
    static let maximumByteCount = 8 * 1024 * 1024
    /// Bytes that may go at once when the path has been idle, and by which the window grows in a round trip.
    static let stepByteCount = 16 * 1024
    /// The least time that what goes at once may stand for, so that a fast path is not paced by the microsecond.
    static let leastBurst: Duration = .milliseconds(2)
    /// Samples whose lowest counts as the present RTT: a frame that waits behind another of the same burst is no queue
    /// (RFC 6817 §3.4.2, CURRENT_FILTER).
    static let currentSampleCount = 4
    /// RTT samples older than this no longer count as the path's lowest (RFC 6817 §3.4.2 keeps minutes; routes change).
    static let baseHistory: Duration = .seconds(60)

    private(set) var byteCount = FlightWindow.initialByteCount
    private(set) var inFlight = 0
    /// When bulk may continue; in the past when it may now.
    private(set) var pacedUntil = Instant.zero
    /// The latest instant at which the caller checked whether bulk may continue.
    private var checkedAt = Instant.zero
    @Compact private var roundTrip: Duration? = nil
    private var currentSamples: [Duration] = []
    @Compact private var baseRTT: Duration? = nil
    @Compact private var previousBaseRTT: Duration? = nil
    private var baseEpochStart = Instant.zero
    private var lastDecrease = Instant.zero
    private var isProbing = true

    var hasRoom: Bool { inFlight < byteCount }

    func allows(at now: Instant) -> Bool {
        hasRoom && pacedUntil <= now
    }

    /// When bulk may continue, unless `deadlinePassed` has noted that instant or the window is full.
    var pacingDeadline: Instant? { hasRoom && pacedUntil > checkedAt ? pacedUntil : nil }

    mutating func deadlinePassed(now: Instant) {
        checkedAt = now
    }

    mutating func sent(_ bytes: Int, now: Instant) {
        inFlight += bytes
        let burst = max(interval(of: FlightWindow.stepByteCount), FlightWindow.leastBurst)
        pacedUntil = max(pacedUntil, now + (.zero - burst)) + interval(of: bytes)
    }

    /// Bytes left the flight without word of how long they took: they were lost, or nobody waits for them.
    mutating func abandoned(_ bytes: Int) {
        inFlight = max(0, inFlight - bytes)
    }

    /// Nothing was acknowledged for a whole timeout: what is known of the path no longer holds (RFC 9002 §7.6).
    mutating func collapse() {
        byteCount = FlightWindow.minimumByteCount
        isProbing = true
    }

    /// Accounts acknowledged bytes; the window only grows when it was what held the sender back.
    ///
    /// - Parameter timesBulk: the RTT is that of a bulk frame; a line that found the path idle says little about it.
    mutating func acknowledged(_ bytes: Int, rtt: Duration?, timesBulk: Bool = true, now: Instant) {
        let wasLimited = inFlight + 2 * FlightWindow.stepByteCount >= byteCount
        inFlight = max(0, inFlight - bytes)
        guard let rtt else { return }
        observeBase(rtt, now: now)
        roundTrip = roundTrip.map { .nanoseconds(($0.nanoseconds * 7 + rtt.nanoseconds) / 8) } ?? rtt
        guard bytes > 0, timesBulk else { return }
        if currentSamples.count == FlightWindow.currentSampleCount { currentSamples.removeFirst() }
        currentSamples.append(rtt)
        guard let base, let current = currentSamples.min() else { return }
        let queueing = current - base
        if queueing > FlightWindow.targetDelay {
            shrink(queueing, rtt, now: now)
        } else if wasLimited {
            grow(bytes, queueing)
        }
        byteCount = min(max(byteCount, FlightWindow.minimumByteCount), FlightWindow.maximumByteCount)
    }

    /// Once per round trip: what is in flight was sent under the window that is being corrected.
    private mutating func shrink(_ queueing: Duration, _ rtt: Duration, now: Instant) {
        isProbing = false
        guard now - lastDecrease > rtt else { return }
        lastDecrease = now
        currentSamples.removeAll(keepingCapacity: true)
        // An eighth at the target, up to a half at four times of it.
        let eighths = min(4 * queueing.nanoseconds / FlightWindow.targetDelay.nanoseconds, 16)
        byteCount -= byteCount * Int(eighths) / 32
    }

    /// By a third per round trip while the path shows no queue, by an eighth until the queue is near the target, then
    /// by a step, and by less the closer the queue is to the target. A queue is seen a round trip late, so the growth
    /// that goes before it is the queue's overshoot.
    private mutating func grow(_ bytes: Int, _ queueing: Duration) {
        if isProbing, queueing * 4 < FlightWindow.targetDelay {
            byteCount += bytes / 3
        } else if isProbing, queueing * 4 < FlightWindow.targetDelay * 3 {
            byteCount += bytes / 8
        } else {
            let room = (FlightWindow.targetDelay - queueing).nanoseconds
            let step = Int(Int64(FlightWindow.stepByteCount) * room / FlightWindow.targetDelay.nanoseconds)
            byteCount += bytes * step / byteCount
        }
    }

    /// The time in which that many bytes go when a window goes in four fifths of a round trip.
    private func interval(of bytes: Int) -> Duration {
        guard let roundTrip else { return .zero }
        return .nanoseconds(roundTrip.nanoseconds / Int64(byteCount) * Int64(bytes) * 4 / 5)
    }

    private var base: Duration? {
        switch (baseRTT, previousBaseRTT) {
        case (let current?, let previous?): min(current, previous)
        case (let current, let previous): current ?? previous
        }
    }

    /// At the end of an epoch bulk pauses for a round trip: a queue that never empties would pass for the path itself.
    private mutating func observeBase(_ rtt: Duration, now: Instant) {
        if now - baseEpochStart > FlightWindow.baseHistory {
            if baseRTT != nil { pacedUntil = max(pacedUntil, now + rtt) }
            previousBaseRTT = baseRTT
            baseRTT = nil
            baseEpochStart = now
        }
        baseRTT = min(baseRTT ?? rtt, rtt)
    }
}
