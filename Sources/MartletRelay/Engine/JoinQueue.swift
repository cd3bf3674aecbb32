import MartletLink

/// The sessions that wait to join rooms. A turn admits a limited number, because a join is the most expensive request
/// of a peer: it reports all members.
///
/// | state of a session | owns | ends |
/// |---|---|---|
/// | waiting | an entry in the queue | `popFirst`, in its turn; `withdraw` |
struct JoinQueue: Sendable {
    /// The maximum number of sessions that join rooms in a turn.
    static let maxPerTurn = 16

    private var waiting = Deque<JoinRequest>()
    private var keys: Set<MemberKey> = []
    private var leftCount = JoinQueue.maxPerTurn

    var isEmpty: Bool { keys.isEmpty }

    /// Whether a session may join at once.
    mutating func admits() -> Bool {
        guard isEmpty, leftCount > 0 else { return false }
        leftCount -= 1
        return true
    }

    mutating func append(_ join: JoinRequest) {
        keys.insert(join.member)
        waiting.append(join)
    }

    /// Removes a session; false when it does not wait.
    mutating func withdraw(_ key: MemberKey) -> Bool {
        guard keys.remove(key) != nil else { return false }
        if keys.isEmpty { waiting.removeAll() }
        return true
    }

    /// The next session, if the turn admits another session.
    mutating func popFirst() -> JoinRequest? {
        guard leftCount > 0 else { return nil }
        while let join = waiting.popFirst() {
            guard keys.remove(join.member) != nil else { continue }
            leftCount -= 1
            return join
        }
        return nil
    }

    /// Ends the turn.
    mutating func endTurn() {
        leftCount = JoinQueue.maxPerTurn
    }
}
