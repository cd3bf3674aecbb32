import MartletLink
import MartletWire

/// The entries of a read, and the rooms about which the policy has been asked.
struct DecidedEntries: Sendable {
    /// Nil if the store has failed.
    let entries: [StoredRoomEntry]?
    var asked: Set<RoomName> = []

    init(_ entries: [StoredRoomEntry]?) {
        self.entries = entries
    }
}

/// The decisions of the room policy about the rooms in an account's list, for one session.
///
/// A decision is kept for its validity, and until the policy or the claims of the account change. The decisions are
/// discarded together beyond their maximum number.
struct EntryDecisions: Sendable {
    /// The maximum number of decisions of the room policy about the rooms in an account's list, for a session.
    static let maxCount = 256

    private struct Decision: Sendable {
        /// Nil if the account may not enter.
        var permissions: RoomPermissions?
        var expiresAt: Instant
    }

    private var decisions: [RoomName: Decision] = [:]
    /// The number of calls of `removeAll`.
    private(set) var generation: UInt64 = 0

    /// Whether a decision about a room is valid.
    func isKnown(_ room: RoomName, now: Instant) -> Bool {
        decisions[room].map { now < $0.expiresAt } ?? false
    }

    /// What the policy permits in a room; nil if the account may not enter, and if there is no decision.
    subscript(room: RoomName) -> RoomPermissions? { decisions[room]?.permissions }

    /// Keeps a decision. A policy that has failed (nil) permits nothing, and is asked again for the next read.
    mutating func note(_ room: RoomName, _ decision: RoomDecision?, now: Instant) {
        if decisions.count >= EntryDecisions.maxCount, decisions[room] == nil { decisions = [:] }
        switch decision {
        case nil: decisions[room] = Decision(permissions: nil, expiresAt: now)
        case .refused: decisions[room] = Decision(permissions: nil, expiresAt: now + RoomAuthorizations.minValidity)
        case .granted(let permissions, let validity):
            let expiresAt = validity.map { now + max($0, RoomAuthorizations.minValidity) }
            decisions[room] = Decision(permissions: permissions, expiresAt: expiresAt ?? .distantFuture)
        }
    }

    mutating func removeAll() {
        decisions = [:]
        generation += 1
    }
}
