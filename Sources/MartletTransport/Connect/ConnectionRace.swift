/// The decisions of a connection race (RFC 8305 §5): which address to try when, and who has won.
///
/// Addresses come in as names are resolved. One attempt starts every `attemptDelay`, the next at once when one fails;
/// the first that connects wins and the others are abandoned. When every address has been tried and none has answered,
/// they are tried again beside the attempts that go on, one every `repeatDelay`, since a system repeats what was lost
/// of an attempt ever more slowly. When nothing is left to try, or at the deadline, the race is lost with the failure
/// of every attempt. The race does nothing itself: feed it what happened, then drain `nextOutput` until it says wait
/// (C-59).
public struct ConnectionRace: Sendable, Equatable {
    /// What the shell has to do.
    public enum Output: Sendable, Equatable {
        /// Begin to connect; tell `connected` or `failed` with this number.
        case start(attempt: Int, SocketAddress)
        /// Close this attempt; tell nothing more of it.
        case abandon(attempt: Int)
        /// The race is over; said once, after every `abandon`.
        case finish(Outcome)
        /// Nothing to do before that time, in nanoseconds; nil after the end.
        case wait(until: UInt64?)
    }

    /// How a race ends.
    public enum Outcome: Sendable, Equatable {
        case won(attempt: Int)
        case lost(TransportError)
    }

    /// Addresses of all endpoints together; more are left out.
    public static let maxCandidateCount = 64

    /// Attempts of one race at the most.
    public static let maxAttemptCount = 128
    /// Attempts that run at a time at the most when addresses are tried again; the oldest makes room.
    public static let maxRepeatingCount = 4

    private struct Candidate: Equatable {
        var endpoint: Int
        /// The place among its endpoint's addresses.
        var rank: Int
        var address: SocketAddress
    }

    private struct Attempt: Equatable {
        var candidate: Candidate
        var isRunning = true
    }

    private let endpoints: [Endpoint]
    private let attemptDelay: UInt64
    private let repeatDelay: UInt64
    private let deadline: UInt64
    private var unresolvedCount: Int
    private var candidates: [Candidate] = []
    private var attempts: [Attempt] = []
    private var failures: [ConnectFailure] = []
    private var abandoned: [Int] = []
    private var nextStart: UInt64 = 0
    private var lastStart: UInt64 = 0
    private var outcome: Outcome?
    private var isOver = false

    /// A race to any of `endpoints`, whose names are being resolved. Times in nanoseconds; without a `repeatDelay`
    /// every address is tried once.
    public init(endpoints: [Endpoint], attemptDelay: UInt64, repeatDelay: UInt64 = .max, deadline: UInt64) {
        self.endpoints = endpoints
        self.attemptDelay = attemptDelay
        self.repeatDelay = repeatDelay
        self.deadline = deadline
        unresolvedCount = endpoints.count
    }

    /// The addresses of an endpoint, best first. Every endpoint's first address is tried before any one's second.
    public mutating func resolved(endpoint: Int, _ addresses: [SocketAddress]) {
        guard outcome == nil else { return }
        unresolvedCount -= 1
        let room = Self.maxCandidateCount - attempts.count - candidates.count
        for (rank, address) in addresses.prefix(max(room, 0)).enumerated() {
            let candidate = Candidate(endpoint: endpoint, rank: rank, address: address)
            let place = candidates.firstIndex { ($0.rank, $0.endpoint) > (rank, endpoint) }
            candidates.insert(candidate, at: place ?? candidates.endIndex)
        }
    }

    /// An endpoint's name gave no addresses.
    public mutating func resolutionFailed(endpoint: Int, _ error: TransportError) {
        guard outcome == nil else { return }
        unresolvedCount -= 1
        failures.append(ConnectFailure(endpoint: endpoints[endpoint], address: nil, error: error))
    }

    /// An attempt connected; the first one wins.
    public mutating func connected(attempt: Int) {
        guard outcome == nil, attempts[attempt].isRunning else { return }
        attempts[attempt].isRunning = false
        decide(.won(attempt: attempt))
    }

    /// An attempt failed; the next starts at once.
    public mutating func failed(attempt: Int, _ error: TransportError) {
        guard outcome == nil, attempts[attempt].isRunning else { return }
        attempts[attempt].isRunning = false
        recordFailure(of: attempt, error)
        nextStart = 0
    }

    /// Nobody wants a connection any more: abandons everything.
    public mutating func cancel() {
        if outcome == nil { decide(.lost(.cancelled)) }
    }

    /// What to do at `now`; ask again until it is `.wait`.
    public mutating func nextOutput(now: UInt64) -> Output {
        if outcome == nil { decideIfLost(now) }
        if let attempt = abandoned.popLast() { return .abandon(attempt: attempt) }
        if let outcome {
            if isOver { return .wait(until: nil) }
            isOver = true
            return .finish(outcome)
        }
        guard !candidates.isEmpty else { return startAgain(now) }
        guard now >= nextStart || !hasRunningAttempt else { return .wait(until: min(nextStart, deadline)) }
        return start(candidates.removeFirst(), now)
    }

    private mutating func start(_ candidate: Candidate, _ now: UInt64) -> Output {
        attempts.append(Attempt(candidate: candidate))
        lastStart = now
        nextStart = ConnectionRace.sum(now, attemptDelay)
        return .start(attempt: attempts.count - 1, candidate.address)
    }

    /// Tries the address again whose attempt is the oldest that has not failed.
    private mutating func startAgain(_ now: UInt64) -> Output {
        let running = attempts.indices.filter { attempts[$0].isRunning }
        let next = ConnectionRace.sum(lastStart, repeatDelay)
        guard let oldest = running.first, attempts.count < Self.maxAttemptCount else { return .wait(until: deadline) }
        guard now >= next else { return .wait(until: min(next, deadline)) }
        guard running.count < Self.maxRepeatingCount else {
            attempts[oldest].isRunning = false
            candidates.append(attempts[oldest].candidate)
            nextStart = 0
            return .abandon(attempt: oldest)
        }
        // The addresses take turns: the one whose latest attempt lies furthest back.
        let latest = Dictionary(running.map { (attempts[$0].candidate.address, $0) }) { $1 }
        return start(attempts[latest.values.min() ?? oldest].candidate, now)
    }

    private static func sum(_ instant: UInt64, _ delay: UInt64) -> UInt64 {
        let (sum, isTooLarge) = instant.addingReportingOverflow(delay)
        return isTooLarge ? .max : sum
    }

    private var hasRunningAttempt: Bool { attempts.contains { $0.isRunning } }

    private mutating func decideIfLost(_ now: UInt64) {
        if now >= deadline {
            for attempt in attempts.indices where attempts[attempt].isRunning { recordFailure(of: attempt, .timedOut) }
            decide(.lost(failures.isEmpty ? .timedOut : .connectFailed(failures)))
        } else if unresolvedCount == 0, candidates.isEmpty, !hasRunningAttempt {
            decide(.lost(failures.isEmpty ? .noAddresses : .connectFailed(failures)))
        }
    }

    private mutating func decide(_ outcome: Outcome) {
        self.outcome = outcome
        candidates = []
        abandoned = attempts.indices.filter { attempts[$0].isRunning }.reversed()
        for attempt in abandoned { attempts[attempt].isRunning = false }
    }

    private mutating func recordFailure(of attempt: Int, _ error: TransportError) {
        let candidate = attempts[attempt].candidate
        failures.append(
            ConnectFailure(endpoint: endpoints[candidate.endpoint], address: candidate.address, error: error))
    }
}
