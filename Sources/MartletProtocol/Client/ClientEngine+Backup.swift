internal import MartletWire

/// A backup connection beside one whose welcome or acknowledgements are overdue (C-63).
///
/// The machine knows that there is one; here is what belongs to it until it takes over or is not needed any more.
extension ClientEngine {
    struct Backup: Sendable {
        var began = Instant.zero
        var credential = CredentialState.none
    }

    /// The welcome, or the link's acknowledgements, are overdue.
    mutating func startBackup(now: Instant) {
        perform(machine.handle(.startBackup, now: now), now: now)
    }

    /// The hello is out: its answer, too, may be waited for in vain.
    mutating func expectWelcome(now: Instant) {
        guard configuration.carrier == .reliable else { return }
        timers.set(.welcome, at: now + link.overdueInterval)
    }

    mutating func missWelcome(now: Instant) {
        guard case .connected(_, .awaitingWelcome) = machine.state else { return }
        timers.set(.welcome, at: now + link.overdueInterval / 2)
        startBackup(now: now)
    }

    mutating func dialBackup(_ id: ConnectionID, now: Instant) {
        backup = Backup(began: now, credential: .fetching)
        outputs.append(.startBackup(id, beside: machine.current))
    }

    /// The peer is silent: the backup, when there is one, is the attempt from here on.
    mutating func replaceSilent(now: Instant) {
        guard machine.backup != nil else { return lose(.lost, now: now) }
        current.lastFailure = .lost
        current.state = .connecting(attempt: policy.attempt + 1)
        perform(machine.handle(.giveUp, now: now), now: now)
    }

    /// Nothing is overdue any more: the connection has come back first.
    mutating func endBackupIfNotNeeded(now: Instant) {
        guard isEstablished, machine.backup != nil, link.lastAckProgress > backup.began || !link.hasUnacknowledged
        else {
            return
        }
        perform(machine.handle(.endBackup, now: now), now: now)
    }
}
