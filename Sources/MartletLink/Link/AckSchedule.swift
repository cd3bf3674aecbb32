import MartletWire

/// The owed acknowledgement of a connection: its instant, the sessions that it names, and the timestamp that it echoes.
///
/// | state | the acknowledgement is sent | ends with |
/// |---|---|---|
/// | none | not at all | `delay`, `request` |
/// | delayed | with other output, at the latest at its instant (W-49) | `request`, `deadlinePassed`, `finish` |
/// | due | at the next opportunity | `finish` |
struct AckSchedule: Sendable {
    private enum State: Equatable {
        case none
        case delayed(until: Instant)
        case due
    }

    /// A received timestamp that is to be echoed (S-24).
    private struct PendingEcho: Vacant {
        static var vacant: PendingEcho { PendingEcho(timestamp: 0, arrived: .vacant) }

        var timestamp: UInt32
        var arrived: Instant
    }

    private var state = State.none
    /// The slots of the sessions that it names. `Session.marks` prevents duplicates.
    private(set) var slots = Deque<Int>()
    @CompactOptional private var echo: PendingEcho? = nil
    /// The newest timestamp of this connection. It is echoed once.
    private var newestTimestamp: UInt32?

    var isIdle: Bool { state == .none }

    /// The instant at which a delayed acknowledgement becomes due.
    @inline(__always)
    var deadline: Instant? {
        if case .delayed(let until) = state { until } else { nil }
    }

    /// Whether the acknowledgement is to be sent now, without other output.
    @inline(__always)
    func isDue(at now: Instant) -> Bool {
        switch state {
        case .none: false
        case .delayed(let until): until <= now
        case .due: true
        }
    }

    /// Whether the acknowledgement was due before the current instant.
    var isRequested: Bool { state == .due }

    mutating func deadlinePassed(now: Instant) {
        if isDue(at: now) { state = .due }
    }

    /// Delays the acknowledgement by at most `Link.maxAckDelay`, unless one is owed already.
    @inline(__always)
    mutating func delay(from now: Instant) {
        if isIdle { state = .delayed(until: now + Link.maxAckDelay) }
    }

    /// The acknowledgement is to be sent at the next opportunity.
    mutating func request() {
        state = .due
    }

    mutating func append(_ slot: Int) {
        slots.append(slot)
    }

    mutating func popSlot() -> Int? {
        slots.popFirst()
    }

    mutating func remove(_ slot: Int) {
        slots = Deque(slots.filter { $0 != slot })
    }

    /// Notes a timestamp; the newest one is echoed. A frame of a packet that announces none repeats an earlier one
    /// (W-53, W-83).
    @inline(__always)
    mutating func noteTimestamp(_ timestamp: UInt32, now: Instant) {
        if let newestTimestamp, Int32(bitPattern: timestamp &- newestTimestamp) <= 0 { return }
        newestTimestamp = timestamp
        echo = PendingEcho(timestamp: timestamp, arrived: now)
    }

    /// Takes the echo for the acknowledgement that is written now.
    mutating func takeEcho(now: Instant) -> Echo? {
        defer { echo = nil }
        return echo.map { Echo(timestamp: $0.timestamp, delay: max(now - $0.arrived, .zero)) }
    }

    /// Everything that was owed has been written.
    mutating func finish() {
        state = .none
    }

    mutating func releaseIdleMemory() {
        slots.releaseIfEmpty()
    }
}
