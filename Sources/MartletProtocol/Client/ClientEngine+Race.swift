/// A spare connection beside one whose acknowledgements are overdue (C-63).
///
/// The machine knows that there is one; here is what belongs to it until it takes over or is not needed any more.
extension ClientEngine {
    /// What a spare's welcome may take at least, however short the path was: what is lost of the handshake, too, is
    /// better sent on another connection than waited for.
    static let leastRacedHandshake: Duration = .seconds(2)

    struct Spare: Sendable {
        var began = Instant.zero
        var credential = CredentialState.none
    }

    /// The link's acknowledgements are overdue.
    mutating func startRace(now: Instant) {
        perform(machine.handle(.race, now: now), now: now)
    }

    mutating func dialSpare(_ id: ConnectionID, now: Instant) {
        spare = Spare(began: now, credential: .fetching)
        outputs.append(.race(id, beside: machine.current))
    }

    func spareIsUp(_ id: ConnectionID) -> ConnectionMachine.Event {
        .spareConnected(id, welcomeWithin: max(ClientEngine.leastRacedHandshake, link.rtt.baseTimeout * 3))
    }

    /// The peer is silent: the spare, when there is one, is the attempt from here on.
    mutating func replaceSilent(now: Instant) {
        guard machine.spare != nil else { return lose(.lost, now: now) }
        current.lastFailure = .lost
        current.state = .connecting(attempt: policy.attempt + 1)
        perform(machine.handle(.giveUp, now: now), now: now)
    }

    /// Nothing is overdue any more: the connection has come back first.
    mutating func endRaceIfWon(now: Instant) {
        guard machine.spare != nil, link.lastAckProgress > spare.began || !link.hasUnacknowledged else { return }
        perform(machine.handle(.endRace, now: now), now: now)
    }
}
