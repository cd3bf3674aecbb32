package import MartletWire

/// The part of an address for which a relay counts connections: an IPv4 address, or the upper half of an IPv6 address.
package struct AddressPrefix: Hashable, Sendable {
    private let bits: UInt64
    private let isIPv6: Bool

    /// The prefix of an IPv4 address, most significant bit first.
    package init(v4 bits: UInt32) {
        (self.bits, isIPv6) = (UInt64(bits), false)
    }

    /// The prefix of an IPv6 address with this upper half.
    package init(v6High bits: UInt64) {
        (self.bits, isIPv6) = (bits, true)
    }
}

/// The admission of connections and authentications at a relay, by address and account (C-11, C-67).
///
/// | state of a prefix | owns | ends |
/// |---|---|---|
/// | unknown | nothing | a connection is admitted |
/// | connected | its numbers of connections, handshakes, authentications, decisions; failures | the last one closes |
/// | kept | its recent failures, of which there is at least one | a connection; `removeExpired`; eviction |
///
/// | state of an account | owns | ends |
/// |---|---|---|
/// | unknown | nothing | an authentication fails |
/// | kept | its recent failures | `removeExpired`, when their number has halved to zero; eviction |
///
/// A prefix with `PeerLimits.maxFailures` recent failures is refused for a time that doubles with each further one. Its
/// decisions in progress count as failures until they have ended, so guesses at once are as many as one by one. An
/// account is never refused, because any peer could then lock it out; its authentications are delayed. A renewal on an
/// authenticated connection is delayed by its account only, because other clients may share the prefix.
package struct PeerLimiter: Sendable {
    /// The maximum number of kept prefixes, and of kept accounts. A further one replaces the one whose failures end
    /// first. A prefix with connections is always kept, so connections beyond this number raise it.
    package static let maxCount = 65_536
    /// The maximum duration for which a prefix is refused. The minimum is `PeerLimits.minRefusal`.
    static let maxRefusal: Duration = .seconds(60)
    /// The number of recent failures of an account at which the delay reaches its maximum.
    static let failuresOfMaxDelay = 10
    /// The duration after which a message that waits for the decisions of its prefix is tried again.
    static let decisionInterval: Duration = .milliseconds(100)
    /// The minimum duration between two reports of refused connections.
    static let reportInterval: Duration = .seconds(1)

    /// The answer to a connection.
    package enum Answer: Equatable {
        case admit
        /// The connection is closed. A report of the number of refused connections since the last report may be due.
        case refuse(report: Int?)
    }

    /// The answer to a hello, or to a further message of its exchange.
    package enum Start: Equatable {
        /// Without a delay, the decision about the message has begun. Otherwise the caller calls `decisionBegan` after
        /// the delay.
        case authenticate(after: Duration)
        /// The peer is refused. The prefix is admitted again after this duration.
        case refuse(retryAfter: Duration)
    }

    private struct Prefix: Sendable {
        var connectionCount = 0
        /// The number of the connections that are not authenticated.
        var handshakeCount = 0
        /// The number of the authentications in progress.
        var authenticationCount = 0
        /// The number of these whose message the authenticator decides about.
        var decisionCount = 0
        var failures = FailureScore()
        var refusedUntil = Instant.zero
    }

    private let limits: PeerLimits
    private let maxCount: Int
    private var prefixes: [AddressPrefix: Prefix] = [:]
    /// The instants at which the failures of prefixes without connections end.
    private var prefixEnds = DeadlineQueue<AddressPrefix, Instant>()
    private var accounts: [AccountName: FailureScore] = [:]
    private var accountEnds = DeadlineQueue<AccountName, Instant>()
    private var handshakeCount = 0
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
        let state = prefixes[prefix] ?? Prefix()
        guard state.refusedUntil <= now, state.connectionCount < limits.maxConnections,
            state.handshakeCount < limits.maxHandshakes,
            // A prefix without handshakes is admitted, also during a flood from others.
            handshakeCount < limits.maxTotalHandshakes || state.handshakeCount == 0
        else { return refuse(now: now) }
        if state.connectionCount == 0 { prefixEnds.cancel(prefix) }
        if prefixes[prefix] == nil { makeRoomForPrefix() }
        prefixes[prefix, default: Prefix()].connectionCount += 1
        prefixes[prefix]?.handshakeCount += 1
        handshakeCount += 1
        return .admit
    }

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

    // MARK: Authentications

    /// A hello arrived on an admitted connection. An answer other than a refusal begins an authentication, and the
    /// caller reports its end once.
    package mutating func authenticationBegan(
        of account: AccountName, from prefix: AddressPrefix, now: Instant
    ) -> Start {
        if let retryAfter = refusal(of: prefix, now: now) { return .refuse(retryAfter: retryAfter) }
        // Guesses in progress have not failed yet (Specs/hostile.md row 64).
        guard prefixes[prefix]?.authenticationCount ?? 0 < limits.maxAuthentications else {
            return .refuse(retryAfter: limits.minRefusal)
        }
        prefixes[prefix]?.authenticationCount += 1
        return decisionBegan(of: account, from: prefix, waited: .zero, now: now)
    }

    /// A message of an authentication in progress is ready for the authenticator. Failures since the begin count for it
    /// too, and decisions in progress as if they had failed (Specs/hostile.md row 64). If the decision begins, the
    /// caller reports its end once.
    ///
    /// - Parameter waited: the delay of the authentication so far.
    package mutating func decisionBegan(
        of account: AccountName, from prefix: AddressPrefix, waited: Duration, now: Instant
    ) -> Start {
        if let retryAfter = refusal(of: prefix, now: now) { return .refuse(retryAfter: retryAfter) }
        let rest = delay(of: account, now: now) - waited
        if rest > .zero { return .authenticate(after: rest) }
        let state = prefixes[prefix] ?? Prefix()
        guard state.decisionCount < max(limits.maxFailures - state.failures.count(now: now), 1) else {
            return .authenticate(after: Self.decisionInterval)
        }
        prefixes[prefix]?.decisionCount += 1
        return .authenticate(after: .zero)
    }

    /// The authenticator has answered a message. A failure is reported apart.
    package mutating func decisionEnded(from prefix: AddressPrefix) {
        guard let count = prefixes[prefix]?.decisionCount, count > 0 else { return }
        prefixes[prefix]?.decisionCount = count - 1
    }

    /// An authentication has ended: accepted, refused, or with its connection.
    package mutating func authenticationEnded(from prefix: AddressPrefix) {
        guard let count = prefixes[prefix]?.authenticationCount, count > 0 else { return }
        prefixes[prefix]?.authenticationCount = count - 1
    }

    /// The duration for which a prefix is refused; nil if it is not.
    private func refusal(of prefix: AddressPrefix, now: Instant) -> Duration? {
        guard let end = prefixes[prefix]?.refusedUntil, end > now else { return nil }
        return end - now
    }

    /// The delay of an authentication of an account, in proportion to its recent failures.
    package func delay(of account: AccountName, now: Instant) -> Duration {
        let count = min(accounts[account]?.count(now: now) ?? 0, Self.failuresOfMaxDelay)
        return limits.maxAuthenticationDelay * count / Self.failuresOfMaxDelay
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

    /// A credential was not accepted.
    package mutating func authenticationFailed(of account: AccountName, from prefix: AddressPrefix, now: Instant) {
        removeExpired(now: now)
        if accounts[account] == nil { makeRoomForAccount() }
        _ = accounts[account, default: FailureScore()].add(now: now)
        accountEnds.set(account, at: accounts[account]?.end)
        if prefixes[prefix] == nil { makeRoomForPrefix() }
        let excess = prefixes[prefix, default: Prefix()].failures.add(now: now) - max(limits.maxFailures, 1)
        if excess >= 0 {
            let end = now + min(limits.minRefusal * (1 << excess), Self.maxRefusal)
            prefixes[prefix]?.refusedUntil = end
            prefixes[prefix]?.failures.hold(until: end)
        }
        settle(prefix)
    }

    // MARK: Bounds

    /// Removes a prefix without connections and failures, or sets the instant of its removal.
    private mutating func settle(_ prefix: AddressPrefix) {
        guard let state = prefixes[prefix], state.connectionCount == 0 else { return }
        if let end = state.failures.end { prefixEnds.set(prefix, at: end) } else { prefixes[prefix] = nil }
    }

    /// Removes prefixes and accounts whose failures have ended.
    private mutating func removeExpired(now: Instant) {
        while let prefix = prefixEnds.popExpired(now: now) { prefixes[prefix] = nil }
        while let account = accountEnds.popExpired(now: now) { accounts[account] = nil }
    }

    private mutating func makeRoomForPrefix() {
        guard prefixes.count >= maxCount, let prefix = prefixEnds.popExpired(now: .distantFuture) else { return }
        prefixes[prefix] = nil
    }

    private mutating func makeRoomForAccount() {
        guard accounts.count >= maxCount, let account = accountEnds.popExpired(now: .distantFuture) else { return }
        accounts[account] = nil
    }

    /// Prefixes and accounts that are kept.
    var keptCounts: (prefixes: Int, accounts: Int) { (prefixes.count, accounts.count) }
}
