package import MartletLink
package import MartletWire

/// A message from one loop of a relay to another.
///
/// Messages in transit are bounded like queued frames: published and delivered messages by the credit of their
/// sessions, all others by the input of a connection in a turn.
package enum LoopMessage: Sendable {
    /// The event of a link for a room of the receiving loop.
    case call(RoomCall)
    /// The effect of a room for a link of the receiving loop.
    case effect(RoomEffect)
}

/// An event of a link for a room.
package enum RoomCall: Sendable {
    /// A session opens the room.
    case join(JoinRequest)
    /// The session has ended before the admission.
    case withdraw(MemberKey, from: RoomName)
    /// The member leaves.
    case leave(MemberHandle)
    /// The member's session was closed: it leaves when its messages are accepted.
    case close(MemberHandle)
    /// The member suspends the delivery of messages, or continues, from `cursor` if it is not nil.
    case setSuspended(MemberHandle, Bool, cursor: UInt64?)
    /// The member's link has a long queue, or has room again.
    case setBacklogged(MemberHandle, Bool)
    /// The member's link negotiated other features.
    case setFeatures(MemberHandle, Features)
    /// The member's link has lost its connection.
    case disconnected(MemberHandle)
    /// The member's link has another connection. The last one received its last bytes at `lastReceived`.
    case reconnected(MemberHandle, lastReceived: Instant)
    /// The room policy has decided anew about the member.
    case setPermissions(MemberHandle, RoomPermissions)
    /// The member's link has room for some of the pending receipts, cancels and presence.
    case sendPending(MemberHandle)
    /// A valid message of the member.
    case publish(MemberHandle, counter: UInt64, body: [UInt8], layout: BodyLayout, acceptedAt: UInt64)
    /// The member's session has room for this many more bytes.
    case credit(MemberHandle, byteCount: Int)
    /// The member has taken or read messages.
    case progressed(MemberHandle, Receipt.Progress)
    /// A transient frame of the member.
    case broadcast(MemberHandle, Transient)
    /// A request of the member.
    case request(MemberHandle, Request)
    /// A request of a session of kind attachment, and the credit of its frames.
    case attachment(MemberHandle, correlation: UInt64, AttachmentRequest, creditByteCount: Int)
    /// An answer of the member.
    case respond(MemberHandle, Response)
    /// The member no longer needs the answer.
    case cancel(MemberHandle, correlation: UInt64)
    /// A request of an account's session about its record of a room.
    case membership(MembershipCall)
    /// An account watches rooms, or no longer watches them.
    case watch(WatchCall)
    /// A command of the relay's application.
    case command(RoomCommandCall)
}
