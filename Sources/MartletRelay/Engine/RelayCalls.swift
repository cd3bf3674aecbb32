import MartletLink
import MartletWire

/// The number of a call, unique in a relay.
package struct RelayCallID: Hashable, Sendable {
    /// The kinds of calls. The bound of calls in flight is that of a kind.
    enum Kind: Int, Sendable {
        case decision
        case answer
        case attachment

        /// The result of a call that is overdue, or that is not made because too many are in flight.
        var failure: RelayResult {
            switch self {
            case .decision: .decision(nil)
            case .answer: .answer(RequestAnswer(status: .serverBusy))
            case .attachment: .attachment(.failed(.unavailable))
            }
        }
    }

    let kind: Kind
    let number: UInt64
    /// The loop of the engine that makes the call.
    package let loop: UInt8
}

/// A call of a service of the application that has a result, except those of the room store.
package enum RelayCall: Sendable {
    /// Ask the room policy.
    case authorize(RoomAuthorizationRequest)
    /// Answer a request without a recipient; without a room, one of an account's session.
    case request(RoomName?, Request)
    /// Perform a request for the administration of the relay, which was authorized.
    case administer(Request)
    /// Call the attachment store. Calls may be concurrent.
    case attachment(AttachmentCall)
}

/// The result of a call, of the same kind.
package enum RelayResult: Sendable {
    /// The decision of the room policy; nil if the policy failed.
    case decision(RoomDecision?)
    case answer(RequestAnswer)
    case attachment(AttachmentResult)
}

/// The calls of one loop without a result.
///
/// | state of a call | owns | ends |
/// |---|---|---|
/// | waiting | what waits for the result, a timeout, a place in the queue | `next`, `withdraw`, `popOverdue` |
/// | in flight | what waits for the result, a timeout if the call has waited | `completed`, `withdraw`, `popOverdue` |
/// | withdrawn, overdue | nothing; it counts while it is in flight | `completed`, without effect |
///
/// A limited number of calls of a kind is in flight. Further questions to the room policy wait in order, and further
/// requests fail (Specs/hostile.md row 50).
struct RelayCalls: Sendable {
    /// The maximum number of questions of a loop to the room policy without an answer.
    static let maxDecisionCount = 1024

    /// What waits for the result of a call.
    enum Waiter: Sendable {
        case decision(RoomAuthorizations.Question)
        /// A request in a room, with its number there.
        case request(MemberHandle, number: UInt64)
        /// A request of an account's session, with its number there.
        case accountRequest(MemberKey, number: UInt64)
        indirect case administration(AdministrationCall)
        case attachment(AttachmentCallID)

        var kind: RelayCallID.Kind {
            switch self {
            case .decision: .decision
            case .request, .accountRequest, .administration: .answer
            case .attachment: .attachment
            }
        }
    }

    private let loop: UInt8
    /// The bounds of calls in flight, and their numbers, by kind. Sessions bound the calls of the attachment store.
    private let maxCounts: [Int]
    private var counts = [0, 0, 0]
    private var lastNumber: UInt64 = 0
    /// The calls that wait or are in flight, without those that are withdrawn or overdue.
    private var waiters: [RelayCallID: Waiter] = [:]
    /// The questions that wait, in order. Those that are withdrawn or overdue are no longer in `waiters`.
    private var queue = Deque<RelayCallID>()
    private var timeouts = DeadlineQueue<RelayCallID, Instant>()

    /// - Parameter maxRequestCount: The maximum number of calls of the request handler in flight.
    init(loop: UInt8 = 0, maxRequestCount: Int) {
        self.loop = loop
        maxCounts = [RelayCalls.maxDecisionCount, maxRequestCount, .max]
    }

    /// Entries of the queue, including those that are withdrawn or overdue.
    var queuedCount: Int { queue.count }
    var deadline: Instant? { timeouts.earliest }

    /// The number of calls of a kind in flight.
    func count(_ kind: RelayCallID.Kind) -> Int { counts[kind.rawValue] }

    private func isFull(_ kind: RelayCallID.Kind) -> Bool { count(kind) >= maxCounts[kind.rawValue] }

    private mutating func insert(_ waiter: Waiter) -> RelayCallID {
        lastNumber += 1
        let id = RelayCallID(kind: waiter.kind, number: lastNumber, loop: loop)
        waiters[id] = waiter
        return id
    }

    /// A call is made now; nil if too many of its kind are in flight.
    mutating func begin(_ waiter: Waiter) -> RelayCallID? {
        guard !isFull(waiter.kind) else { return nil }
        counts[waiter.kind.rawValue] += 1
        return insert(waiter)
    }

    /// A question waits until it is asked.
    mutating func enqueue(_ question: RoomAuthorizations.Question, timeout: Duration, now: Instant) -> RelayCallID {
        let id = insert(.decision(question))
        if queue.count >= Deque<RelayCallID>.maxCount(valid: waiters.count) {
            queue = Deque(queue.filter { waiters[$0] != nil })
        }
        queue.append(id)
        timeouts.set(id, at: now + timeout)
        return id
    }

    /// The next question that is asked; nil if there is none, or if too many are in flight.
    mutating func next() -> (RelayCallID, RoomAuthorizations.Question)? {
        while !isFull(.decision), let id = queue.popFirst() {
            guard case .decision(let question)? = waiters[id] else { continue }
            counts[RelayCallID.Kind.decision.rawValue] += 1
            return (id, question)
        }
        return nil
    }

    /// A call has its result. Returns what waits for it; nil if the call was withdrawn or overdue.
    mutating func completed(_ id: RelayCallID) -> Waiter? {
        precondition(count(id.kind) > 0, "a result without a call")
        counts[id.kind.rawValue] -= 1
        return withdraw(id)
    }

    /// Withdraws a call, whose result then has no effect. Returns what has waited for it.
    @discardableResult
    mutating func withdraw(_ id: RelayCallID) -> Waiter? {
        timeouts.cancel(id)
        return waiters.removeValue(forKey: id)
    }

    /// A call that had no result within its timeout.
    mutating func popOverdue(now: Instant) -> Waiter? {
        timeouts.popExpired(now: now).flatMap { waiters.removeValue(forKey: $0) }
    }

    // MARK: Quiescence

    func check(_ check: inout QuiescenceCheck) {
        check.empty("calls without a result", count: waiters.count + counts.reduce(0, +))
    }
}
