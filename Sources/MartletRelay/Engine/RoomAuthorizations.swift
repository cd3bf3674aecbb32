import MartletLink
import MartletWire

/// The number of a question to the room policy, unique in an engine.
package struct QuestionID: Hashable, Sendable {
    let rawValue: UInt64
}

/// The questions of one loop to its room policy, and the expiry of decisions.
///
/// | state of a session | owned here | ends |
/// |---|---|---|
/// | asked | a question, its timeout, the `open` of a session that has not joined | `answered`, `popOverdue` |
/// | decided | a deadline, if the decision expires | `popExpired`, `sessionEnded` |
///
/// A limited number of questions is in flight. The others wait in order. A question that is withdrawn or overdue
/// remains in flight until its answer, which then has no effect (Specs/hostile.md row 50).
struct RoomAuthorizations: Sendable {
    /// The maximum number of questions of a loop to the room policy without an answer.
    static let maxInFlightCount = 1024
    /// The minimum validity of a decision.
    static let minValidity: Duration = .seconds(1)

    /// A question, with what waits for the decision.
    enum Question: Sendable {
        /// A session opens its room.
        case opening(MemberKey, Open)
        /// A session has joined its room, and the earlier decision stays in effect.
        case joined(MemberKey)
        /// A request of an account's session.
        case call(MembershipCall)
        /// A room in the list of an account, about whose messages the policy is asked. The generation is that
        /// of the session's decisions.
        case entry(MemberKey, RoomName, generation: UInt64)

        /// The session.
        var member: MemberKey {
            switch self {
            case .opening(let member, _), .joined(let member), .entry(let member, _, _): member
            case .call(let call): call.caller
            }
        }
    }

    private var lastID: UInt64 = 0
    /// The questions that wait or are in flight.
    private var questions: [QuestionID: Question] = [:]
    /// The questions that wait, in order. Those of ended sessions are no longer in `questions`.
    private var waiting = Deque<QuestionID>()
    private var inFlightCount = 0
    private var timeouts = DeadlineQueue<QuestionID, Instant>()
    private var expiries = DeadlineQueue<MemberKey, Instant>()

    /// Entries of the queue, including those of ended sessions.
    var waitingCount: Int { waiting.count }
    var deadline: Instant? { expiries.earliest.orEarlier(timeouts.earliest) }

    /// Asks about a session, which has no other question.
    mutating func ask(_ question: Question, timeout: Duration, now: Instant) -> QuestionID {
        lastID += 1
        let id = QuestionID(rawValue: lastID)
        if waiting.count >= Deque<QuestionID>.maxCount(valid: questions.count) {
            waiting = Deque(waiting.filter { questions[$0] != nil })
        }
        questions[id] = question
        waiting.append(id)
        timeouts.set(id, at: now + timeout)
        expiries.cancel(question.member)
        return id
    }

    /// The next question that the driver asks; nil if there is none, or if too many are in flight.
    mutating func next() -> (QuestionID, Question)? {
        while inFlightCount < RoomAuthorizations.maxInFlightCount, let id = waiting.popFirst() {
            guard let question = questions[id] else { continue }
            inFlightCount += 1
            return (id, question)
        }
        return nil
    }

    /// A question has its answer. Returns the question; nil if its session has ended.
    mutating func answered(_ id: QuestionID) -> Question? {
        inFlightCount -= 1
        return remove(id)
    }

    /// A question that had no answer within its timeout.
    mutating func popOverdue(now: Instant) -> Question? {
        timeouts.popExpired(now: now).flatMap { questions.removeValue(forKey: $0) }
    }

    private mutating func remove(_ id: QuestionID) -> Question? {
        timeouts.cancel(id)
        return questions.removeValue(forKey: id)
    }

    /// A decision expires after this duration.
    mutating func setExpiry(of member: MemberKey, after validity: Duration, now: Instant) {
        expiries.set(member, at: now + max(validity, RoomAuthorizations.minValidity))
    }

    mutating func popExpired(now: Instant) -> MemberKey? { expiries.popExpired(now: now) }

    /// Withdraws a question, whose answer then has no effect. Returns its `open`.
    mutating func withdraw(_ id: QuestionID?) -> Open? {
        guard let id, case .opening(_, let open) = remove(id) else { return nil }
        return open
    }

    /// A session has ended, with its question if it had one.
    mutating func sessionEnded(_ member: MemberKey, question: QuestionID?) {
        _ = withdraw(question)
        expiries.cancel(member)
    }

    // MARK: Quiescence

    func check(_ check: inout QuiescenceCheck) {
        check.empty("questions to the room policy", count: questions.count + inFlightCount)
    }
}
