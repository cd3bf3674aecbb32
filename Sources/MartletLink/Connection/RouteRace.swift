/// The order and the time of the attempts on several routes, and their outcome (C-127).
///
/// A route starts every `delay`, and at once after a failure. The first route whose handshake is complete ends all
/// others. A postponed route starts when no other is left, because its handshake would win again although no relay has
/// answered behind it. The race fails when no route is left, or at the deadline. The machine performs no I/O: report
/// events, then drain `nextOutput` until it returns `wait`.
///
/// | state of a route | owns | ends |
/// |---|---|---|
/// | waiting | nothing | its turn, or for a postponed one the end of all others; the end of the race |
/// | running | an attempt | its result; its time; the end of the race |
/// | over | nothing | |
package struct RouteRace: Equatable, Sendable {
    /// An action for the driver.
    package enum Output: Equatable, Sendable {
        /// Start the route, and report `connected` or `failed`.
        case start(Int)
        /// Close the route, and report no further event of it.
        case abandon(Int)
        /// The race has ended with this route; nil if all have failed. Returned once, after every `abandon`.
        case finish(Int?)
        /// No action before this instant; nil until an event.
        case wait(until: Instant?)
    }

    /// The duration after which the next route starts beside a running one: three times the delay between addresses
    /// (C-59), because the handshakes of a route have at least three round trips.
    package static let delay = Duration.milliseconds(750)
    /// The duration, in most attempts, of that on a route that the user has not named, unless it has worked before, and
    /// of that on each route before those that are postponed.
    package static let guessTimeout = Duration.seconds(5)

    private enum State: Equatable {
        case waiting
        case running(since: Instant)
        case over
    }

    private struct Route: Equatable {
        var state = State.waiting
        /// The maximum duration of the attempt.
        let timeout: Duration?
    }

    private var routes: [Route]
    private let postponedCount: Int
    private let deadline: Instant?
    private var nextStart = Instant.zero
    private var abandoned: [Int] = []
    private var winner: Int?
    private var isOver = false
    private var hasFinished = false
    /// The routes whose attempts have exceeded their time, until the owner takes them.
    private var timedOut: [Int] = []

    /// - Parameters:
    ///   - timeouts: The maximum duration of the attempt on each route, in the order of the routes; nil for one that
    ///     ends with the race.
    ///   - postponedCount: The number of routes at the end that are postponed.
    ///   - deadline: The end of the race; nil for none.
    package init(timeouts: [Duration?], postponedCount: Int = 0, deadline: Instant?) {
        routes = timeouts.map { Route(timeout: $0) }
        self.postponedCount = postponedCount
        self.deadline = deadline
    }

    /// The handshake on a route is complete.
    package mutating func connected(_ route: Int) {
        guard !isOver, case .running = routes[route].state else { return }
        routes[route].state = .over
        winner = route
        end()
    }

    /// A route has failed. The next one starts at once.
    ///
    /// - Parameter endsRace: Whether the failure is not one of the network, so that no other route can be better.
    package mutating func failed(_ route: Int, endsRace: Bool = false) {
        guard !isOver, case .running = routes[route].state else { return }
        routes[route].state = .over
        nextStart = .zero
        if endsRace { end() }
    }

    /// Returns the routes whose attempts have exceeded their time since the last call.
    mutating func takeTimedOut() -> [Int] {
        defer { timedOut = [] }
        return timedOut
    }

    /// Abandons all attempts.
    package mutating func cancel() { if !isOver { end() } }

    /// The next action at `now`. Call it until it returns `.wait`.
    package mutating func nextOutput(now: Instant) -> Output {
        if !isOver { pass(now) }
        if let route = abandoned.popLast() { return .abandon(route) }
        if isOver {
            if hasFinished { return .wait(until: nil) }
            hasFinished = true
            return .finish(winner)
        }
        guard let next = routes.firstIndex(where: { $0.state == .waiting }) else { return .wait(until: due) }
        let firstPostponed = routes.count - postponedCount
        if next >= firstPostponed, running.contains(where: { $0 < firstPostponed }) { return .wait(until: due) }
        guard now >= nextStart || running.isEmpty else { return .wait(until: due.orEarlier(nextStart)) }
        routes[next].state = .running(since: now)
        nextStart = now + Self.delay
        return .start(next)
    }

    private var running: [Int] {
        routes.indices.filter { if case .running = routes[$0].state { true } else { false } }
    }

    /// The end of an attempt by its time; nil without one.
    private func end(of route: Int) -> Instant? {
        guard case .running(let start) = routes[route].state else { return nil }
        return routes[route].timeout.map { start + $0 }
    }

    private var due: Instant? { running.reduce(deadline) { $0.orEarlier(end(of: $1)) } }

    /// Ends what has exceeded its time.
    private mutating func pass(_ now: Instant) {
        let late = deadline.map { $0 <= now } ?? false
        for route in running where late || end(of: route).map({ $0 <= now }) ?? false {
            routes[route].state = .over
            timedOut.append(route)
            abandoned.append(route)
            nextStart = .zero
        }
        if late || routes.allSatisfy({ $0.state == .over }) { end() }
    }

    private mutating func end() {
        isOver = true
        abandoned += running.reversed()
        for route in routes.indices { routes[route].state = .over }
    }
}
