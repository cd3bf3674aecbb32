import MartletLink
import MartletWire

/// Calls that leave the engine, and their results.
extension SessionRouter {
    /// Makes a call; it fails if too many of its kind are in flight.
    mutating func call(_ call: RelayCall, for waiter: RelayCalls.Waiter, now: Instant) {
        guard let id = calls.begin(waiter) else { return conclude(waiter, waiter.kind.failure, now: now) }
        outputs.append(.call(id, call))
    }

    /// The result of a call, which has no effect if the call was withdrawn or is overdue.
    mutating func completed(_ id: RelayCallID, _ result: RelayResult, now: Instant) {
        if let waiter = calls.completed(id) { conclude(waiter, result, now: now) }
    }

    /// Passes a result to what waits for it.
    ///
    /// - Precondition: They are of the same kind.
    mutating func conclude(_ waiter: RelayCalls.Waiter, _ result: RelayResult, now: Instant) {
        switch (waiter, result) {
        case (.decision(let question), .decision(let decision)): decided(question, decision, now: now)
        case (.request(let member, let number), .answer(let answer)):
            rooms.local.respond(member, answer.response(to: number))
        case (.accountRequest(let key, let number), .answer(let answer)): answered(key, answer.response(to: number))
        case (.administration(let call), .answer(let answer)): concluded(call, answer)
        case (.attachment(let id), .attachment(let result)): rooms.local.attachmentAnswered(id, result)
        default: preconditionFailure("the result is of another kind than the call")
        }
    }

    /// A request of a member without a recipient, for its room or for the request handler.
    mutating func ask(_ request: Request, of member: MemberHandle, in room: RoomName, now: Instant) {
        if let method = RelayMethod(request.method) {
            return stateRequests.append((member, method, request.correlation))
        }
        call(.request(room, request), for: .request(member, number: request.correlation), now: now)
    }

    /// Answers the next request for the state of a room; false if there is none.
    mutating func answerAboutRoom() -> Bool {
        guard let (member, method, number) = stateRequests.popFirst() else { return false }
        let state = rooms.local.state(of: member)
        let retention = (state?.retention ?? RoomRetention()).completed(by: configuration.retention)
        let response = method.answer(number, about: state?.room, retention)
        rooms.local.respond(member, response)
        return true
    }
}
