import MartletLink

/// The states of a connection to the database, as decisions.
///
/// | state | owns | ends |
/// |---|---|---|
/// | waiting | the time of the next attempt | that time |
/// | connecting | the deadline of the attempt | connected, broken, the deadline |
/// | idle | nothing | a statement, broken |
/// | busy | the deadline of the statement | answered, broken, the deadline |
/// | closed | nothing | never |
///
/// Each state but closed ends with `close`, too. An event that does not belong to the state changes nothing.
struct PostgresMachine {
    /// The durations of the states.
    struct Deadlines: Equatable, Sendable {
        /// The maximum duration of an attempt to connect, with the first statements.
        var connect = Duration.seconds(10)
        /// The maximum duration of a statement. The server cancels it a third earlier.
        var statement = Duration.seconds(15)
        /// The duration after which the server cancels a statement, or ends a connection within a transaction.
        var server: Duration { statement * 2 / 3 }
        /// The pause before the second attempt after a failure; it doubles with each further one.
        var retryBase = Duration.milliseconds(100)
        /// The maximum pause between two attempts.
        var retryCap = Duration.seconds(3)
    }

    /// What the owner of the connection must do.
    enum Action: Equatable {
        case nothing
        case connect
        /// Discard the connection; what is under way has no answer.
        case disconnect
    }

    private enum State: Equatable {
        case waiting(until: Instant)
        case connecting(until: Instant)
        case idle
        case busy(until: Instant)
        case closed
    }

    /// Doublings of the pause after which it is at its maximum in any case.
    private static let maxDoublingCount = 10

    private let deadlines: Deadlines
    private var state: State
    private var failureCount = 0

    /// The first attempt begins at once.
    init(_ deadlines: Deadlines, now: Instant) {
        self.deadlines = deadlines
        state = .waiting(until: now)
    }

    var isIdle: Bool { state == .idle }

    /// When `expired` must be called.
    var deadline: Instant? {
        switch state {
        case .waiting(let time), .connecting(let time), .busy(let time): time
        case .idle, .closed: nil
        }
    }

    /// The first statements were answered.
    mutating func connected() {
        if case .connecting = state { state = .idle }
    }

    /// A statement is sent.
    mutating func send(now: Instant) {
        if case .idle = state { state = .busy(until: now + deadlines.statement) }
    }

    /// The statement was answered.
    mutating func answered() {
        guard case .busy = state else { return }
        state = .idle
        failureCount = 0
    }

    /// The connection has ended, or cannot be used any more. `random` contains 64 uniform random bits.
    mutating func broken(now: Instant, random: UInt64) -> Action {
        switch state {
        case .closed, .waiting: return .nothing
        case .connecting, .idle, .busy:
            state = .waiting(until: now + pause(random))
            failureCount += 1
            return .disconnect
        }
    }

    /// The deadline has passed, or not: an early call changes nothing.
    mutating func expired(now: Instant, random: UInt64) -> Action {
        guard let deadline, deadline <= now else { return .nothing }
        guard case .waiting = state else { return broken(now: now, random: random) }
        state = .connecting(until: now + deadlines.connect)
        return .connect
    }

    /// Ends every state.
    mutating func close() -> Action {
        defer { state = .closed }
        switch state {
        case .waiting, .closed: return .nothing
        case .connecting, .idle, .busy: return .disconnect
        }
    }

    /// A broken connection is tried again at once. Each later pause is random, from a half to the whole of its maximum,
    /// so that relays do not return in step.
    private func pause(_ random: UInt64) -> Duration {
        guard failureCount > 0 else { return .zero }
        let doublings = min(failureCount - 1, Self.maxDoublingCount)
        let bound = min(deadlines.retryBase * (1 << doublings), deadlines.retryCap)
        return bound / 2 + .uniform(below: bound / 2, random: random)
    }
}
