/// The bytes of bulk that a link keeps in flight: a delay-based window similar to LEDBAT (RFC 6817), paced (RFC 9002
/// §7.7; S-50).
///
/// A stream accepts megabytes into buffers of the path, and an interactive message would wait behind them. The normal
/// and low classes therefore keep only as much in flight as fills the path plus `targetDelay` of queue: the window
/// grows while the measured queueing delay (RTT minus the lowest RTT) is below the target and shrinks above it. Pacing
/// spreads the window over the round trip; otherwise each acknowledgement would release a burst that forms a queue. The
/// urgent and high classes are not restricted.
struct FlightWindow: Equatable, Sendable {
    /// Queueing delay that bulk may cause on the path. RFC 6817 §2.5 allows up to 100 ms.
    static let targetDelay: Duration = .milliseconds(30)
    /// The minimum of the window in bytes, which ensures progress of bulk.
    static let minimumByteCount = 16 * 1024
    /// The window of a new path, in bytes.
    static let initialByteCount = 48 * 1024
    /// The maximum of the window in bytes.
    static let maximumByteCount = 8 * 1024 * 1024
    /// The bytes that may be sent at once on an idle path, and the growth of the window in a round trip.
    static let stepByteCount = 16 * 1024
    /// The minimum interval of pacing. The bytes of this duration are sent at once.
    static let minBurst: Duration = .milliseconds(2)
    /// The number of latest samples whose minimum is the current RTT. The delay of a frame behind others of its burst
    /// is no queueing delay (RFC 6817 §3.4.2, CURRENT_FILTER).
    static let currentSampleCount = 4
    /// The maximum age of the path's lowest RTT (RFC 6817 §3.4.2 keeps minutes; routes change).
    static let baseHistory: Duration = .seconds(60)

    private(set) var byteCount = FlightWindow.initialByteCount
    private(set) var inFlight = 0
    /// The instant at which bulk may continue; in the past if it may now.
    private(set) var pacedUntil = Instant.zero
    /// The latest instant at which the caller checked whether bulk may continue.
    private var checkedAt = Instant.zero
    @CompactOptional private var roundTrip: Duration? = nil
    private var currentSamples: [Duration] = []
    @CompactOptional private var baseRTT: Duration? = nil
    @CompactOptional private var previousBaseRTT: Duration? = nil
    private var baseEpochStart = Instant.zero
    private var lastDecrease = Instant.zero
    private var isProbing = true

    var hasRoom: Bool { inFlight < byteCount }

    func allows(at now: Instant) -> Bool {
        hasRoom && pacedUntil <= now
    }

    /// The instant at which bulk may continue; nil if `deadlinePassed` has noted it or the window is full.
    var pacingDeadline: Instant? { hasRoom && pacedUntil > checkedAt ? pacedUntil : nil }

    mutating func deadlinePassed(now: Instant) {
        checkedAt = now
    }

    mutating func sent(_ bytes: Int, now: Instant) {
        inFlight += bytes
        let burst = max(interval(of: FlightWindow.stepByteCount), FlightWindow.minBurst)
        pacedUntil = max(pacedUntil, now + (.zero - burst)) + interval(of: bytes)
    }

    /// Removes bytes from the flight without a measured time: lost ones, and those of a session that ended.
    mutating func abandoned(_ bytes: Int) {
        inFlight = max(0, inFlight - bytes)
    }

    /// No frame was acknowledged during a timeout: the measurements of the path are obsolete (RFC 9002 §7.6).
    mutating func collapse() {
        byteCount = FlightWindow.minimumByteCount
        isProbing = true
    }

    /// Removes acknowledged bytes from the flight. The window grows only if it was the sender's limit.
    ///
    /// - Parameters:
    ///   - bytes: The acknowledged bytes.
    ///   - frameByteCount: The mean size of the acknowledged frames. The transmission of a frame on a slow path takes
    ///     longer than that of the short frames that measure the lowest RTT, and is no queueing delay.
    ///   - rtt: The sample of this acknowledgement, if there is one.
    ///   - timesBulk: Whether the RTT is that of a bulk frame; other frames do not measure the queue of bulk.
    mutating func acknowledged(
        _ bytes: Int, frameByteCount: Int = 0, rtt: Duration?, timesBulk: Bool = true, now: Instant
    ) {
        let wasLimited = inFlight + 2 * FlightWindow.stepByteCount >= byteCount
        inFlight = max(0, inFlight - bytes)
        guard let rtt else { return }
        observeBase(rtt, now: now)
        roundTrip = roundTrip.map { .nanoseconds(($0.nanoseconds * 7 + rtt.nanoseconds) / 8) } ?? rtt
        guard bytes > 0, timesBulk else { return }
        if currentSamples.count == FlightWindow.currentSampleCount { currentSamples.removeFirst() }
        currentSamples.append(rtt)
        guard let base, let current = currentSamples.min() else { return }
        let queueing = max(current - base - transmissionTime(of: frameByteCount), .zero)
        if queueing > FlightWindow.targetDelay {
            shrink(queueing, rtt, now: now)
        } else if wasLimited {
            grow(bytes, queueing)
        }
        byteCount = min(max(byteCount, FlightWindow.minimumByteCount), FlightWindow.maximumByteCount)
    }

    /// Shrinks once per round trip, because the bytes in flight were sent under the earlier window.
    private mutating func shrink(_ queueing: Duration, _ rtt: Duration, now: Instant) {
        isProbing = false
        guard now - lastDecrease > rtt else { return }
        lastDecrease = now
        currentSamples.removeAll(keepingCapacity: true)
        // An eighth at the target, up to a half at four times the target.
        let eighths = min(4 * queueing.nanoseconds / FlightWindow.targetDelay.nanoseconds, 16)
        byteCount -= byteCount * Int(eighths) / 32
    }

    /// Grows by a third per round trip while the path shows no queue, by an eighth until the queue is near the target,
    /// then by a step, and by less the closer the queue is to the target. A queue is measured a round trip late, so the
    /// growth of that round trip exceeds the target.
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

    /// The duration in which this many bytes are sent, if a window takes four fifths of a round trip.
    private func interval(of bytes: Int) -> Duration { transmissionTime(of: bytes * 4 / 5) }

    /// The duration in which this many bytes are transmitted, if a window takes a round trip.
    private func transmissionTime(of bytes: Int) -> Duration {
        guard let roundTrip else { return .zero }
        return .nanoseconds(roundTrip.nanoseconds / Int64(byteCount) * Int64(bytes))
    }

    private var base: Duration? {
        switch (baseRTT, previousBaseRTT) {
        case (let current?, let previous?): min(current, previous)
        case (let current, let previous): current ?? previous
        }
    }

    /// Observes the lowest RTT. Bulk pauses for a round trip at the end of an epoch: otherwise the delay of a queue
    /// that never empties would count as the delay of the path.
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
