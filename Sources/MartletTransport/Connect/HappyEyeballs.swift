/// The decisions of Happy Eyeballs (RFC 8305 §5): the order and the time of connection attempts, and their outcome.
///
/// Addresses are added as names are resolved. An attempt starts every `attemptDelay`, and at once after a failure. The
/// first connected attempt ends all others. When all addresses have been tried without an answer, they are tried again
/// beside the running attempts, one every `repeatDelay`, because the system retransmits a lost SYN at growing
/// intervals. The connect fails at the deadline, or when no attempt is left, with the failures of all attempts. The
/// machine performs no I/O: report events, then drain `nextOutput` until it returns `wait` (C-59).
package struct HappyEyeballs: Sendable, Equatable {
    /// An action for the shell.
    package enum Output: Sendable, Equatable {
        /// Start the attempt, and report `connected` or `failed` with this number.
        case start(attempt: Int, SocketAddress)
        /// Close the attempt, and report no further event of it.
        case abandon(attempt: Int)
        /// The connect has ended; returned once, after every `abandon`.
        case finish(Outcome)
        /// No action before this time, in nanoseconds; nil after the end.
        case wait(until: UInt64?)
    }

    /// The outcome of a connect.
    package enum Outcome: Sendable, Equatable {
        case connected(attempt: Int)
        case failed(TransportError)
    }

    /// The maximum number of addresses of all endpoints; further addresses are ignored.
    package static let maxCandidateCount = 64

    /// The maximum number of attempts.
    package static let maxAttemptCount = 128
    /// The maximum number of concurrent attempts while addresses are tried again; the oldest is abandoned for the next.
    package static let maxConcurrentRepeats = 4

    private struct Candidate: Equatable {
        var endpoint: Int
        /// The index among the addresses of its endpoint.
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
    private var hasFinished = false

    /// Creates the state of a connect to one of `endpoints`, whose names are being resolved. All times are in
    /// nanoseconds. Without `repeatDelay` every address is tried once.
    package init(endpoints: [Endpoint], attemptDelay: UInt64, repeatDelay: UInt64 = .max, deadline: UInt64) {
        self.endpoints = endpoints
        self.attemptDelay = attemptDelay
        self.repeatDelay = repeatDelay
        self.deadline = deadline
        unresolvedCount = endpoints.count
    }

    /// Adds the addresses of an endpoint, best first. The first address of every endpoint is tried before the second of
    /// any.
    package mutating func resolved(endpoint: Int, _ addresses: [SocketAddress]) {
        guard outcome == nil else { return }
        unresolvedCount -= 1
        let capacity = Self.maxCandidateCount - attempts.count - candidates.count
        for (rank, address) in addresses.prefix(max(capacity, 0)).enumerated() {
            let candidate = Candidate(endpoint: endpoint, rank: rank, address: address)
            let index = candidates.firstIndex { ($0.rank, $0.endpoint) > (rank, endpoint) }
            candidates.insert(candidate, at: index ?? candidates.endIndex)
        }
    }

    /// The name of an endpoint has no addresses.
    package mutating func resolutionFailed(endpoint: Int, _ error: TransportError) {
        guard outcome == nil else { return }
        unresolvedCount -= 1
        failures.append(ConnectFailure(endpoint: endpoints[endpoint], address: nil, error: error))
    }

    /// An attempt connected. The first one ends the connect.
    package mutating func connected(attempt: Int) {
        guard outcome == nil, attempts[attempt].isRunning else { return }
        attempts[attempt].isRunning = false
        end(.connected(attempt: attempt))
    }

    /// An attempt failed. The next one starts at once.
    package mutating func failed(attempt: Int, _ error: TransportError) {
        guard outcome == nil, attempts[attempt].isRunning else { return }
        attempts[attempt].isRunning = false
        recordFailure(of: attempt, error)
        nextStart = 0
    }

    /// The endpoint of an attempt.
    package func endpoint(ofAttempt attempt: Int) -> Endpoint {
        endpoints[attempts[attempt].candidate.endpoint]
    }

    /// Cancels the connect and abandons all attempts.
    package mutating func cancel() {
        if outcome == nil { end(.failed(.cancelled)) }
    }

    /// The next action at `now`. Call it until it returns `.wait`.
    package mutating func nextOutput(now: UInt64) -> Output {
        if outcome == nil { checkFailure(now) }
        if let attempt = abandoned.popLast() { return .abandon(attempt: attempt) }
        if let outcome {
            if hasFinished { return .wait(until: nil) }
            hasFinished = true
            return .finish(outcome)
        }
        guard !candidates.isEmpty else { return repeatAddress(now) }
        guard now >= nextStart || !hasRunningAttempt else { return .wait(until: min(nextStart, deadline)) }
        return start(candidates.removeFirst(), now)
    }

    private mutating func start(_ candidate: Candidate, _ now: UInt64) -> Output {
        attempts.append(Attempt(candidate: candidate))
        lastStart = now
        nextStart = now.addingSaturated(attemptDelay)
        return .start(attempt: attempts.count - 1, candidate.address)
    }

    /// Starts an attempt for an address that has already been tried without an answer.
    private mutating func repeatAddress(_ now: UInt64) -> Output {
        let running = attempts.indices.filter { attempts[$0].isRunning }
        let next = lastStart.addingSaturated(repeatDelay)
        guard let oldest = running.first, attempts.count < Self.maxAttemptCount else { return .wait(until: deadline) }
        guard now >= next else { return .wait(until: min(next, deadline)) }
        guard running.count < Self.maxConcurrentRepeats else {
            attempts[oldest].isRunning = false
            candidates.append(attempts[oldest].candidate)
            nextStart = 0
            return .abandon(attempt: oldest)
        }
        // The address with the oldest latest attempt is next.
        let latest = Dictionary(running.map { (attempts[$0].candidate.address, $0) }) { $1 }
        return start(attempts[latest.values.min() ?? oldest].candidate, now)
    }

    private var hasRunningAttempt: Bool { attempts.contains { $0.isRunning } }

    private mutating func checkFailure(_ now: UInt64) {
        if now >= deadline {
            for attempt in attempts.indices where attempts[attempt].isRunning { recordFailure(of: attempt, .timedOut) }
            end(.failed(failures.isEmpty ? .timedOut : .connectFailed(failures)))
        } else if unresolvedCount == 0, candidates.isEmpty, !hasRunningAttempt {
            end(.failed(failures.isEmpty ? .noAddresses : .connectFailed(failures)))
        }
    }

    private mutating func end(_ outcome: Outcome) {
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
