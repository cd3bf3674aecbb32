/// Sessions that are to join their rooms, so many in a turn: to tell a member of all the others is what costs a relay
/// most of what a peer can ask for.
///
/// A session is in it once, until its turn has come or it is withdrawn.
struct JoinQueue: Sendable {
    /// Joins of one turn.
    static let maxPerTurn = 16

    private var waiting = Deque<JoinRequest>()
    private var keys: Set<MemberKey> = []
    private var leftCount = JoinQueue.maxPerTurn

    var isEmpty: Bool { keys.isEmpty }

    /// Whether a session joins at once.
    mutating func admits() -> Bool {
        guard isEmpty, leftCount > 0 else { return false }
        leftCount -= 1
        return true
    }

    mutating func append(_ join: JoinRequest) {
        keys.insert(join.member)
        waiting.append(join)
    }

    /// A session gives up; false when it does not wait here.
    mutating func withdraw(_ key: MemberKey) -> Bool {
        guard keys.remove(key) != nil else { return false }
        if keys.isEmpty { waiting.removeAll() }
        return true
    }

    /// The next one, if the turn has room for it.
    mutating func popFirst() -> JoinRequest? {
        guard leftCount > 0 else { return nil }
        while let join = waiting.popFirst() {
            guard keys.remove(join.member) != nil else { continue }
            leftCount -= 1
            return join
        }
        return nil
    }

    /// The turn ends.
    mutating func endTurn() {
        leftCount = JoinQueue.maxPerTurn
    }
}
