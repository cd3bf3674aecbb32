/// What is known about the routes on the latest networks (C-127, Specs/hostile.md row 116).
///
/// | state of a route on a network | owns | ends |
/// |---|---|---|
/// | unknown | nothing | a connection on it has an answer, or ends without one |
/// | working: a relay has answered on it | the number of refusals, and of attempts | an answer on a different route; an end without one |
/// | suspect: its latest connection ended without the answer of a relay | its place behind the other routes, and the number of attempts | an answer on it; `maxAnswerCount`; no route has a handshake in an attempt of the others; every route is suspect: only the latest one remains so |
///
/// | state of a connection | owns | ends |
/// |---|---|---|
/// | unanswered, from the handshake of its route | the route, and the network | `answered`, `failed`, `ended` |
struct RouteMemory: Sendable {
    /// The maximum number of networks. Beyond it the one that was used least recently is forgotten.
    static let maxNetworkCount = 16
    /// The maximum number of consecutive refusals that end an attempt without other routes.
    static let maxRefusalCount = 8
    /// The maximum number of consecutive answers on other routes while a route is suspect. Beyond it the oldest suspect
    /// route has the chance of the others again.
    static let maxAnswerCount = 8

    /// A route without the reason for its use and without the address of a proxy.
    struct Key: Hashable, Sendable {
        var usesProxy: Bool
        var isWebSocket: Bool
    }

    /// The number of attempts of which, where no route is suspect, one gives its whole time to each route.
    static let wholeAttemptInterval = 4

    /// What an attempt tries.
    struct Turn: Equatable, Sendable {
        /// Whether the routes that are not suspect have the whole attempt, so that the suspect ones have no time in it.
        var isOfOthers = false
        /// A number that chooses one of several addresses for a proxy.
        var address = 0
    }

    private struct Entry: Sendable {
        let network: NetworkID
        /// The route on which a relay has answered last; nil for none, and if it is suspect.
        var working: Key?
        /// The suspect routes, the latest at the end.
        var suspects: [Key] = []
        /// The number of attempts since an answer, or since a route has become suspect.
        var attemptCount = 0
        /// The number of attempts that the host of the server has refused since the route has worked.
        var refusalCount = 0
        /// The number of answers since a route has become suspect, or has ceased to be so by `maxAnswerCount`.
        var answerCount = 0
    }

    /// The networks, the one that was used last at the end.
    private var entries: [Entry] = []
    private var addressTurn = 0
    /// The number of attempts on networks without an entry since an answer.
    private var unknownAttemptCount = 0
    /// The connections on which no relay has answered, with all routes of their attempts: the current one, and one
    /// beside it (C-63).
    private var unanswered: [ConnectionID: (key: Key, routes: [Key], network: NetworkID)] = [:]

    /// Returns the route that works on a network; nil if none is known.
    func route(on network: NetworkID) -> Key? { entry(network)?.working }

    /// Returns the routes of a network that are tried last, in this order.
    func suspects(on network: NetworkID) -> [Key] { entry(network)?.suspects ?? [] }

    /// Returns the turn of the attempt that begins now. Where a route is suspect, every second attempt is that of the
    /// others, so that a slow route is reached, and a suspect one, too. It has the address of the attempt before it, so
    /// that each address has attempts of both kinds. Where none is suspect, every `wholeAttemptInterval`-th one is that
    /// of all routes, so that a slow one is reached, and most attempts are over soon while the server is down.
    mutating func takeTurn(on network: NetworkID) -> Turn {
        let index = entries.firstIndex { $0.network == network }
        let hasSuspects = index.map { !entries[$0].suspects.isEmpty } ?? false
        let interval = hasSuspects ? 2 : Self.wholeAttemptInterval
        let number = index.map { entries[$0].attemptCount } ?? unknownAttemptCount
        if let index { entries[index].attemptCount &+= 1 } else { unknownAttemptCount &+= 1 }
        let isOfOthers = number % interval == interval - 1
        if !hasSuspects || !isOfOthers { addressTurn += 1 }
        return Turn(isOfOthers: isOfOthers, address: addressTurn)
    }

    /// No route has had a handshake in an attempt of the routes that are not suspect. These may drop packets, beside a
    /// suspect route that is too slow for the rest of an attempt.
    mutating func turnOfOthersFailed(on network: NetworkID) {
        guard let index = entries.firstIndex(where: { $0.network == network }) else { return }
        (entries[index].suspects, entries[index].attemptCount) = ([], 0)
    }

    /// The handshake of a route is complete, but not that of the link.
    mutating func opened(_ id: ConnectionID, on key: Key, of routes: [Key], network: NetworkID) {
        if routes.count > 1 { unanswered[id] = (key, routes, network) }
    }

    /// A relay has answered on a connection.
    mutating func answered(_ id: ConnectionID) {
        guard let (key, _, network) = unanswered.removeValue(forKey: id) else { return }
        var entry = entry(network) ?? Entry(network: network)
        (entry.working, entry.refusalCount) = (key, 0)
        entry.suspects.removeAll { $0 == key }
        // Others have the first attempt, before the suspect routes.
        (entry.attemptCount, unknownAttemptCount) = (entry.suspects.isEmpty ? 0 : 1, 0)
        entry.answerCount += 1
        if entry.answerCount >= Self.maxAnswerCount {
            entry.suspects = Array(entry.suspects.dropFirst())
            entry.answerCount = 0
        }
        use(entry)
    }

    /// A connection has ended, or has exceeded its time, before a relay has answered.
    mutating func failed(_ id: ConnectionID) {
        guard let (key, routes, network) = unanswered.removeValue(forKey: id) else { return }
        var entry = entry(network) ?? Entry(network: network)
        if entry.working == key { entry.working = nil }
        if !entry.suspects.contains(key) { entry.attemptCount = 0 }
        entry.answerCount = 0
        entry.suspects.removeAll { $0 == key }
        entry.suspects.append(key)
        // Each route is tried once without the others, even one that is slow beside those without a relay.
        if routes.allSatisfy(entry.suspects.contains) { entry.suspects = [key] }
        use(entry)
    }

    /// A connection has ended for a reason that says nothing about its route.
    mutating func ended(_ id: ConnectionID) { unanswered[id] = nil }

    /// The host of the server has answered that no server listens.
    mutating func noteRefusal(on network: NetworkID) {
        guard let index = entries.firstIndex(where: { $0.network == network }) else { return }
        entries[index].refusalCount = min(entries[index].refusalCount + 1, Self.maxRefusalCount)
    }

    /// Whether a refusal on the working route, if it is direct, means that the server is down, and not that the network
    /// has changed.
    func believesRefusals(on network: NetworkID) -> Bool {
        entry(network).map { $0.working != nil && $0.refusalCount < Self.maxRefusalCount } ?? false
    }

    private func entry(_ network: NetworkID) -> Entry? { entries.last { $0.network == network } }

    private mutating func use(_ entry: Entry) {
        entries.removeAll { $0.network == entry.network }
        entries.append(entry)
        if entries.count > Self.maxNetworkCount { entries.removeFirst() }
    }
}
