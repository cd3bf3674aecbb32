public import MartletWire

/// What one loop of a relay tells another.
///
/// What is on its way is bounded as what waits in queues is: messages by their sessions' credit in both directions,
/// everything else by what a connection may bring in a turn.
public enum LoopMessage: Sendable {
    /// A link of ours has something for a room of yours.
    case call(RoomCall)
    /// A room of ours has something for a link of yours.
    case effect(RoomEffect)
}

/// What a link has for a room.
public enum RoomCall: Sendable {
    /// A session wants to be a member.
    case join(JoinRequest)
    /// It gave up before it was one.
    case withdraw(MemberKey, from: RoomName)
    /// A member leaves.
    case leave(MemberHandle)
    /// A member has said its last, and leaves when it has been told of its messages.
    case close(MemberHandle)
    /// A member asks to hold back, or to go on, from `cursor` if it says so.
    case setSuspended(MemberHandle, Bool, cursor: UInt64?)
    /// A member's link has enough on its way, or has room again.
    case setHeldBack(MemberHandle, Bool)
    /// A member's link has agreed on other features.
    case setFeatures(MemberHandle, Features)
    /// A member's link lost its connection, or has one again.
    case setAway(MemberHandle, Bool)
    /// A member's link has room for some of what there is to tell it.
    case sendPending(MemberHandle)
    /// A member's message, checked.
    case publish(MemberHandle, counter: UInt64, body: [UInt8], layout: BodyLayout, acceptedAt: UInt64)
    /// A member's session has room for so many more bytes.
    case credit(MemberHandle, byteCount: Int)
    /// A member has taken or read messages.
    case progressed(MemberHandle, Receipt.Progress)
    /// A member's typing and the like.
    case broadcast(MemberHandle, Transient)
    /// A member's request.
    case request(MemberHandle, Request)
    /// A member's answer.
    case respond(MemberHandle, Response)
    /// A member no longer waits for an answer.
    case cancel(MemberHandle, correlation: UInt64)
}

extension Rooms {
    mutating func receive(_ call: RoomCall, now: Instant) {
        switch call {
        case .join(let request): join(request)
        case .withdraw(let key, let room): withdraw(key, from: room)
        case .leave(let handle): leave(handle)
        case .close(let handle): close(handle)
        case .setSuspended(let handle, let isSuspended, let cursor): setSuspended(isSuspended, handle, cursor: cursor)
        case .setHeldBack(let handle, let isHeldBack): setHeldBack(isHeldBack, handle)
        case .setFeatures(let handle, let features): setFeatures(features, handle)
        case .setAway(let handle, let isAway): setAway(isAway, handle)
        case .sendPending(let handle): sendPending(handle)
        case .publish(let handle, let counter, let body, let layout, let acceptedAt):
            let message = ClientMessage(counter: counter, body: body.rawBytes, layout: layout)
            publish(handle, message, acceptedAt: acceptedAt)
        case .credit(let handle, let byteCount): credit(handle, byteCount: byteCount)
        case .progressed(let handle, let progress): progressed(handle, progress)
        case .broadcast(let handle, let transient): broadcast(handle, transient)
        case .request(let handle, let request): self.request(handle, request, now: now)
        case .respond(let handle, let response): respond(handle, response)
        case .cancel(let handle, let correlation): cancel(handle, correlation: correlation)
        }
    }
}
