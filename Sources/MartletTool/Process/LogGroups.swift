import MartletLink
import MartletRelay
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
        var last: RelayEvent
        var count = 0
    }

    /// The kinds of events that are grouped.
    private enum Kind: Hashable {
        case fault, tls, webSocket, proxy, authentication, store, memberships, authenticator, policy
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
        guard let kind = Self.kind(of: event) else { return earlier + [.relay(event)] }
        guard let counting = kinds[kind] else {
            kinds[kind] = Counting(last: event)
            ends.set(kind, at: now + AuditRefusals.interval)
            return earlier + [.relay(event)]
        }
        kinds[kind] = Counting(last: event, count: counting.count + 1)
        return earlier
    }

    /// Returns all counted events, at the end of the log.
    mutating func finish() -> [RelayLog.Event] {
        due(now: .distantFuture, isEnd: true) + refusals.finish().map { RelayLog.Event.audited($0) }
    }

    private mutating func due(now: Instant, isEnd: Bool = false) -> [RelayLog.Event] {
        var events: [RelayLog.Event] = []
        while let kind = ends.popExpired(now: now) {
            guard let counting = kinds.removeValue(forKey: kind), counting.count > 0 else { continue }
            events.append(.repeated(counting.last, counting.count))
            guard !isEnd else { continue }
            kinds[kind] = Counting(last: counting.last)
            ends.set(kind, at: now + AuditRefusals.interval)
        }
        return events
    }

    private static func kind(of event: RelayEvent) -> Kind? {
        switch event {
        case .note(.link(.faulted), _): .fault
        case .tlsFailed(_, _?): .tls
        case .webSocketFailed: .webSocket
        case .proxyRefused: .proxy
        case .authenticationRefused: .authentication
        case .storeFailed: .store
        case .membershipsFailed: .memberships
        case .authenticatorFailed: .authenticator
        case .policyFailed: .policy
        default: nil
        }
    }
}
