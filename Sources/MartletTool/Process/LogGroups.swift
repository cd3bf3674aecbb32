import MartletLink
import MartletRelay
import MartletTelemetry
import MartletWire

/// Groups the events of a relay's log that peers can repeat without end (Specs/hostile.md row 106).
///
/// Refusals are grouped by their accounts, as in the audit log. Other such events are grouped by their kinds.
///
/// | state of a kind | owns | ends |
/// |---|---|---|
/// | unknown | nothing | an event, which is written |
/// | counting | the end of an interval, the last event, the number of unwritten ones | an interval without one |
struct LogGroups: Sendable {
    private struct Counting: Sendable {
        var last: RelayLog.Event
        var count = 0
    }

    /// The kinds of events that are grouped.
    private enum Kind: Hashable {
        case fault, tls, webSocket, proxy, accepting, authentication, roles, store, recovery, memberships
        case authenticator, policy, undelivered, rejectedPoints, fullSpool, failedSpool, spoolRecovery
    }

    private var refusals = AuditRefusals()
    private var kinds: [Kind: Counting] = [:]
    private var ends = DeadlineQueue<Kind, Instant>()

    /// Takes an event, and returns the events to write.
    mutating func add(_ event: RelayEvent, now: Instant) -> [RelayLog.Event] {
        let earlier = due(now: now)
        if let record = AuditRecord(event) {
            return earlier + refusals.add(record, now: now).map { RelayLog.Event.audited($0) }
        }
        return earlier + add(.relay(event), Self.kind(of: event), now: now)
    }

    /// Takes an event of the exporter of points, and returns the events to write.
    mutating func add(_ event: InfluxExporter.Event, now: Instant) -> [RelayLog.Event] {
        let earlier = due(now: now)
        // The points of all events are counted.
        let count = if case .rejected(let count, _) = event { count } else { 1 }
        return earlier + add(.telemetry(event), Self.kind(of: event), count: count, now: now)
    }

    private mutating func add(
        _ event: RelayLog.Event, _ kind: Kind?, count: Int = 1, now: Instant
    ) -> [RelayLog.Event] {
        guard let kind else { return [event] }
        guard let counting = kinds[kind] else {
            kinds[kind] = Counting(last: event)
            ends.set(kind, at: now + AuditRefusals.interval)
            return [event]
        }
        kinds[kind] = Counting(last: event, count: counting.count.addingReportingOverflow(count).partialValue)
        return []
    }

    /// Returns all counted events, at the end of the log.
    mutating func finish() -> [RelayLog.Event] {
        due(now: .distantFuture, isEnd: true) + refusals.finish().map { RelayLog.Event.audited($0) }
    }

    private mutating func due(now: Instant, isEnd: Bool = false) -> [RelayLog.Event] {
        var events: [RelayLog.Event] = []
        while let kind = ends.popExpired(now: now) {
            guard let counting = kinds.removeValue(forKey: kind), counting.count > 0 else { continue }
            if case .telemetry(.rejected(_, let status)) = counting.last {
                events.append(.telemetry(.rejected(count: counting.count, status: status)))
            } else {
                events.append(.repeated(counting.last, counting.count))
            }
            guard !isEnd else { continue }
            kinds[kind] = Counting(last: counting.last)
            ends.set(kind, at: now + AuditRefusals.interval)
        }
        return events
    }

    /// The kind of an event that peers can repeat; nil for others.
    private static func kind(of event: RelayEvent) -> Kind? {
        switch event {
        case .note(.link(.faulted), _): .fault
        case .tlsFailed(_, _?): .tls
        case .webSocketFailed: .webSocket
        case .proxyRefused: .proxy
        case .authenticationRefused: .authentication
        case .acceptingPaused: .accepting
        case .note(.rolesInvalid, _): .roles
        case .storeFailed: .store
        case .storeRecovered: .recovery
        case .membershipsFailed: .memberships
        case .authenticatorFailed: .authenticator
        case .policyFailed: .policy
        case .undeliveredFailed: .undelivered
        // They have audit records, or a bound of connections, links or rooms limits them.
        case .note(.link(.linked), _), .note(.link(.resumed), _), .note(.link(.refused), _),
            .note(.link(.suspended), _), .note(.link(.ended), _), .note(.roomRefused, _), .note(.roomCreated, _),
            .note(.roomOperation, _), .note(.administered, _):
            nil
        // An operator has caused them.
        case .revoked, .kicked, .drainRequested, .roomDecisionsRevoked, .tlsFailed(_, nil): nil
        // The relay limits their rate.
        case .connectionsRefused, .undeliveredReportsDropped, .attachmentsFailed, .diskSpaceChanged, .busFaulted,
            .busNameShared:
            nil
        }
    }

    private static func kind(of event: InfluxExporter.Event) -> Kind? {
        switch event {
        case .rejected: .rejectedPoints
        case .spoolFull: .fullSpool
        case .spoolFailed: .failedSpool
        case .spoolRecovered: .spoolRecovery
        // The database and the disk cause them, and attempts are seconds apart.
        case .unavailable, .recovered, .spoolDamaged: nil
        }
    }
}
