package import MartletLink
package import MartletWire

/// The admission of connections and authentications at a relay, by address and account (C-11, C-67).
///
/// | state of a prefix | owns | ends |
/// |---|---|---|
/// | unknown | nothing | a connection is admitted |
/// | connected | its connections, handshakes, guesses in progress; its allowance of failures | the last one closes |
/// | kept | its allowance, which is not full | a connection; `removeExpired`; eviction |
///
/// | state of a pair | owns | ends |
/// |---|---|---|
/// | unknown | nothing | a decision about it begins, or fails |
/// | deciding | its decisions in progress, its recent failures | the last decision ends |
/// | kept | its recent failures, of which there is at least one | a decision; `removeExpired`; eviction |
///
/// | state of an account | owns | ends |
/// |---|---|---|
/// | unknown | nothing | an authentication fails |
/// | kept | its recent failures | `removeExpired`, when their number has halved to zero; eviction |
///
/// A *pair* is an account and a prefix. A device that was authenticated from this prefix is a pair of its own, which
/// the failures of others do not affect. A pair with `PeerLimits.maxFailures` recent failures is refused for a time
/// that doubles with each further one. Its decisions in progress count as failures until they have ended, so guesses at
/// once are as many as one by one. The failures of a prefix under different names are bounded by an allowance. While it
/// is used up, pairs that have not been authenticated wait, and the others do not. An account is never refused, because
/// any peer could then lock it out; its authentications are delayed. A renewal on an authenticated connection is
/// delayed by its account only.
package struct PeerLimiter: Sendable {
    /// The maximum number of kept prefixes, of kept pairs, of authenticated pairs, and of kept accounts. A further one
    /// replaces the one that ends first. A prefix with connections and a pair with decisions are always kept, so
    /// connections beyond this number raise it.
    package static let maxCount = 65_536
    /// The maximum duration for which a pair is refused. The minimum is `PeerLimits.minRefusal`.
    static let maxRefusal: Duration = .seconds(60)
    /// The number of recent failures of an account at which the delay reaches its maximum.
    static let failuresOfMaxDelay = 10
    /// The duration after which a message that waits for other decisions is tried again.
    static let decisionInterval: Duration = .milliseconds(100)
    /// The duration of the delays of an authentication after which a message that still waits for others is refused.
    static let maxWait: Duration = .seconds(6)
    /// The maximum number of connections of proxies that have not stated the address of their client. Further ones are
    /// closed (C-122).
    static let maxForwarderCount = 1_024
    /// The duration for which a pair counts as authenticated after it last was.
    static let authenticatedLifetime: Duration = .seconds(86_400)
    /// The minimum duration between two reports of refused connections.
    static let reportInterval: Duration = .seconds(1)

    /// The answer to a connection.
    package enum Answer: Equatable {
        case admit
        /// The connection is closed. A report of the number of refused connections since the last report may be due.
        case refuse(report: Int?)
    }

    /// The account, device and prefix of an authentication.
    package struct Peer: Hashable, Sendable {
        var account: AccountName
        var device: DeviceID?
        package private(set) var prefix: AddressPrefix

        package init(_ account: AccountName, _ device: DeviceID, from prefix: AddressPrefix) {
            (self.account, self.device, self.prefix) = (account, device, prefix)
        }

        /// The pair of a device that was not authenticated.
        fileprivate var withoutDevice: Peer {
            var peer = self
            peer.device = nil
            return peer
        }
    }

    /// A decision of the authenticator about a message, whose end the caller reports once.
    package struct Decision: Equatable, Sendable {
        /// Nil for a decision without limits.
        fileprivate var pair: Peer?
        /// Whether the decision counts as a failure of the prefix until it has ended.
        fileprivate var isGuess = false
    }

    /// The answer to a hello, or to a further message of its exchange.
    package enum Start: Equatable {
        /// The decision about the message has begun.
        case decide(Decision)
        /// The caller calls `decisionBegan` after this duration.
        case wait(Duration)
        /// The peer is refused for the reason and the duration in the notice.
        case refuse(Notice)
    }

    private struct Prefix: Sendable {
        var connectionCount = 0
        /// The number of the connections that are not authenticated.
        var handshakeCount = 0
        /// The number of decisions in progress of pairs that were not authenticated.
        var guessCount = 0
        /// The allowance of failures; nil without a bound.
        var allowance: TokenBucket?

        init(_ limits: PeerLimits) {
            guard limits.failureBurst < .max else { return }
            allowance = TokenBucket(burst: limits.failureBurst, perMinute: limits.failuresPerMinute)
        }

        /// Whether the prefix may fail in each of its decisions in progress, and in one more.
        func allowsGuess(now: Instant) -> Bool { allowance?.has(guessCount + 1, now: now) ?? true }
    }

    private struct Pair: Sendable {
        var failures = FailureScore()
        var refusedUntil = Instant.zero
        /// The number of its messages that the authenticator decides about.
        var decisionCount = 0
    }

    private let limits: PeerLimits
    private let maxCount: Int
    private var prefixes: [AddressPrefix: Prefix] = [:]
    /// The instants at which the allowances of prefixes without connections are full.
    private var prefixEnds = DeadlineQueue<AddressPrefix, Instant>()
    private var pairs: [Peer: Pair] = [:]
    /// The instants at which the failures of pairs without decisions end.
    private var pairEnds = DeadlineQueue<Peer, Instant>()
    /// The pairs that were authenticated, with and without their devices, until they no longer count as such.
    private var authenticated = DeadlineQueue<Peer, Instant>()
    private var accounts: [AccountName: FailureScore] = [:]
    private var accountEnds = DeadlineQueue<AccountName, Instant>()
    private var handshakeCount = 0
    private var forwarderCount = 0
    /// Refused connections since the start.
    package private(set) var refusedCount: UInt64 = 0
    private var unreportedCount = 0
    private var reportedAt: Instant?

    package init(_ limits: PeerLimits, maxCount: Int = PeerLimiter.maxCount) {
        self.limits = limits
        self.maxCount = maxCount
    }

    // MARK: Connections

    /// A connection arrived.
    package mutating func accepted(_ prefix: AddressPrefix, now: Instant) -> Answer {
        removeExpired(now: now)
        let state = prefixes[prefix] ?? Prefix(limits)
        guard state.connectionCount < limits.maxConnections, state.handshakeCount < limits.maxHandshakes,
            // A prefix without handshakes is admitted, also during a flood from others.
            handshakeCount < limits.maxTotalHandshakes || state.handshakeCount == 0
        else { return refuse(now: now) }
        if state.connectionCount == 0 { prefixEnds.cancel(prefix) }
        if prefixes[prefix] == nil { makeRoomForPrefix() }
        prefixes[prefix, default: state].connectionCount += 1
        prefixes[prefix]?.handshakeCount += 1
        handshakeCount += 1
        return .admit
    }

    /// A connection of a proxy arrived, whose request will state the address of its client.
    package mutating func acceptedForwarder(now: Instant) -> Answer {
        guard forwarderCount < Self.maxForwarderCount else { return refuse(now: now) }
        forwarderCount += 1
        return .admit
    }

    /// A connection that `acceptedForwarder` admitted has an address, or has closed.
    package mutating func forwarderEnded() { forwarderCount -= 1 }

    private mutating func refuse(now: Instant) -> Answer {
        refusedCount += 1
        unreportedCount += 1
        if let reportedAt, now < reportedAt + Self.reportInterval { return .refuse(report: nil) }
        reportedAt = now
        defer { unreportedCount = 0 }
        return .refuse(report: unreportedCount)
    }

    /// An admitted connection has closed. With `isHandshake` it was not authenticated.
    package mutating func closed(_ prefix: AddressPrefix, isHandshake: Bool) {
        if isHandshake { handshakeEnded(prefix) }
        guard let count = prefixes[prefix]?.connectionCount, count > 0 else { return }
        prefixes[prefix]?.connectionCount = count - 1
        settle(prefix)
    }

    /// A connection was authenticated. The caller reports each connection once.
    package mutating func handshakeEnded(_ prefix: AddressPrefix) {
        guard let count = prefixes[prefix]?.handshakeCount, count > 0 else { return }
        prefixes[prefix]?.handshakeCount = count - 1
        handshakeCount -= 1
    }

    /// An authenticated connection awaits another hello, because its resume was refused. It counts as a handshake again
    /// until the next `handshakeEnded`.
    package mutating func handshakeResumed(_ prefix: AddressPrefix) {
        guard prefixes[prefix] != nil else { return }
        prefixes[prefix]?.handshakeCount += 1
        handshakeCount += 1
    }

    // MARK: Authentications

    /// A hello, or a further message of its exchange, is ready for the authenticator, on a connection that is not
    /// authenticated. Failures since the start of an exchange count for its further messages, and decisions in progress
    /// as if they had failed (Specs/hostile.md row 64).
    ///
    /// - Parameter waited: the delay of the authentication so far.
    package mutating func decisionBegan(of peer: Peer, waited: Duration, now: Instant) -> Start {
        let pair = self.pair(of: peer)
        let state = pairs[pair] ?? Pair()
        if state.refusedUntil > now {
            return refuse(
                "too many sign-ins of this account from this address have failed", until: state.refusedUntil, now)
        }
        let rest = delay(of: peer.account, now: now) - waited
        if rest > .zero { return .wait(rest) }
        guard state.decisionCount < max(limits.maxFailures - state.failures.count(now: now), 1) else {
            return wait("too many sign-ins of this account are in progress", waited, now)
        }
        let isGuess = authenticated.deadline(of: pair) == nil
        if isGuess, let prefix = prefixes[pair.prefix], !prefix.allowsGuess(now: now) {
            return wait("too many sign-ins from this address have failed or are in progress", waited, now)
        }
        if pairs[pair] == nil { makeRoomForPair() }
        pairs[pair, default: Pair()].decisionCount += 1
        pairEnds.cancel(pair)
        if isGuess { prefixes[pair.prefix]?.guessCount += 1 }
        return .decide(Decision(pair: pair, isGuess: isGuess))
    }

    /// A renewal on an authenticated connection, or a message from an address without limits, is ready for the
    /// authenticator. Only the delay of the account applies to it.
    package func unlimitedDecisionBegan(of account: AccountName, waited: Duration, now: Instant) -> Start {
        let rest = delay(of: account, now: now) - waited
        return rest > .zero ? .wait(rest) : .decide(Decision())
    }

    private func refuse(_ reason: String, until end: Instant, _ now: Instant) -> Start {
        .refuse(Notice(code: .serverBusy, reason: reason, retryAfter: end.retryAfter(now: now)))
    }

    /// The answer to a message that waits for the decisions about others.
    private func wait(_ reason: String, _ waited: Duration, _ now: Instant) -> Start {
        waited < Self.maxWait ? .wait(Self.decisionInterval) : refuse(reason, until: now + limits.minRefusal, now)
    }

    /// The authenticator has answered a message, or its connection has closed. A success or a failure is reported
    /// apart.
    package mutating func decisionEnded(_ decision: Decision) {
        guard let pair = decision.pair, let count = pairs[pair]?.decisionCount, count > 0 else { return }
        pairs[pair]?.decisionCount = count - 1
        settle(pair)
        if decision.isGuess { prefixes[pair.prefix]?.guessCount -= 1 }
    }

    /// The delay of an authentication of an account, in proportion to its recent failures.
    func delay(of account: AccountName, now: Instant) -> Duration {
        let count = min(accounts[account]?.count(now: now) ?? 0, Self.failuresOfMaxDelay)
        return limits.maxAuthenticationDelay * count / Self.failuresOfMaxDelay
    }

    /// A credential was accepted.
    package mutating func authenticationSucceeded(of peer: Peer, now: Instant) {
        for pair in [peer, peer.withoutDevice] {
            if authenticated.count >= maxCount, authenticated.deadline(of: pair) == nil {
                _ = authenticated.popExpired(now: .distantFuture)
            }
            authenticated.set(pair, at: now + Self.authenticatedLifetime)
        }
    }

    /// A credential was not accepted.
    package mutating func authenticationFailed(of peer: Peer, now: Instant) {
        authenticationFailed(of: peer.account, now: now)
        let pair = self.pair(of: peer)
        if pairs[pair] == nil { makeRoomForPair() }
        let excess = pairs[pair, default: Pair()].failures.add(now: now) - max(limits.maxFailures, 1)
        if excess >= 0 {
            let end = now + min(limits.minRefusal * (1 << excess), Self.maxRefusal)
            pairs[pair]?.refusedUntil = end
            pairs[pair]?.failures.hold(until: end)
        }
        settle(pair)
        if prefixes[pair.prefix] == nil { makeRoomForPrefix() }
        _ = prefixes[pair.prefix, default: Prefix(limits)].allowance?.take(now: now)
        settle(pair.prefix)
    }

    /// A credential was not accepted, from an address without limits.
    package mutating func authenticationFailed(of account: AccountName, now: Instant) {
        removeExpired(now: now)
        if accounts[account] == nil { makeRoomForAccount() }
        _ = accounts[account, default: FailureScore()].add(now: now)
        accountEnds.set(account, at: accounts[account]?.end)
    }

    /// The pair with whose failures a peer is counted: that of its device if it was authenticated.
    private func pair(of peer: Peer) -> Peer {
        authenticated.deadline(of: peer) == nil ? peer.withoutDevice : peer
    }

    // MARK: Bounds

    /// Removes a prefix without connections and failures, or sets the instant of its removal.
    private mutating func settle(_ prefix: AddressPrefix) {
        guard let state = prefixes[prefix], state.connectionCount == 0 else { return }
        // The allowance of a prefix without failures has been full since the origin of the clock.
        let end = state.allowance?.fullAt ?? .zero
        if end > .zero { prefixEnds.set(prefix, at: end) } else { prefixes[prefix] = nil }
    }

    /// Removes a pair without decisions and failures, or sets the instant of its removal.
    private mutating func settle(_ pair: Peer) {
        guard let state = pairs[pair], state.decisionCount == 0 else { return }
        if let end = state.failures.end { pairEnds.set(pair, at: end) } else { pairs[pair] = nil }
    }

    /// Removes prefixes, pairs and accounts whose failures have ended, and pairs that no longer count as authenticated.
    private mutating func removeExpired(now: Instant) {
        while let prefix = prefixEnds.popExpired(now: now) { prefixes[prefix] = nil }
        while let pair = pairEnds.popExpired(now: now) { pairs[pair] = nil }
        while authenticated.popExpired(now: now) != nil {}
        while let account = accountEnds.popExpired(now: now) { accounts[account] = nil }
    }

    private mutating func makeRoomForPrefix() {
        guard prefixes.count >= maxCount, let prefix = prefixEnds.popExpired(now: .distantFuture) else { return }
        prefixes[prefix] = nil
    }

    private mutating func makeRoomForPair() {
        guard pairs.count >= maxCount, let pair = pairEnds.popExpired(now: .distantFuture) else { return }
        pairs[pair] = nil
    }

    private mutating func makeRoomForAccount() {
        guard accounts.count >= maxCount, let account = accountEnds.popExpired(now: .distantFuture) else { return }
        accounts[account] = nil
    }

    /// Prefixes, pairs, authenticated pairs and accounts that are kept.
    var keptCounts: KeptCounts {
        KeptCounts(
            prefixes: prefixes.count, pairs: pairs.count, authenticated: authenticated.count, accounts: accounts.count)
    }

    /// Numbers of kept states.
    struct KeptCounts: Equatable {
        var prefixes = 0
        var pairs = 0
        var authenticated = 0
        var accounts = 0
    }
}
