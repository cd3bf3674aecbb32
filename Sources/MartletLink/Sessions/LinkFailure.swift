public import MartletWire

/// The reason for which a call of a link or of a session has failed.
public enum LinkFailure: Error, Hashable, Sendable {
    /// The link has ended: the peer has ended it, or it could not be resumed (C-31, C-35), for example because the
    /// connection broke between the hello and the welcome of a resume (C-37). The peer may have received any part of
    /// the messages that were sent last.
    case linkEnded
    /// The session was reset: by one of its sides, or for a fault of the peer (S-10).
    case reset(ErrorCode)
    /// The session was closed by this side.
    case closed
    /// The client or the listener was closed.
    case stopped
    /// The client makes no further attempt to connect.
    case gaveUp(StopReason)
    /// The encoded message is longer than the `Limits.maxMessageByteCount` of one side (S-44).
    case messageTooLarge
    /// The link has as many sessions as the `Limits.maxSessions` of one side (S-4).
    case tooManySessions
    /// The text is not a name of 1 to 128 bytes (W-31).
    case invalidName(String)
}

/// The number of a session among those of a link at one of its ends.
package struct SessionKey: Hashable, Sendable {
    package let number: UInt64
}

/// The number of a call, which no other call of the driver has.
package struct CallID: Hashable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }
}

/// A call of the application about the sessions of a link.
package enum SessionCall: Sendable {
    /// Open a session; the result is `session`.
    case open(RoomName, SessionKind)
    /// Take the next session that the peer opens; the result is `session`.
    case accept
    /// Send a message; the result is `done` when the link has taken it.
    case send([UInt8], on: SessionKey)
    /// Take the next message; the result is `message`, or `end` behind the last one.
    case receive(SessionKey)
    /// Close the session behind all messages. There is no result.
    case close(SessionKey)
    /// Reset the session. There is no result.
    case reset(SessionKey, ErrorCode)
    /// The application has dropped the session. There is no result.
    case release(SessionKey)
}

/// The result of a call.
package enum SessionResult: Equatable, Sendable {
    case session(SessionKey, RoomName, SessionKind)
    case link(LinkKey, LinkID, DeviceKey, Claims)
    case message([UInt8])
    case done
    case end
    case failed(LinkFailure)
    /// The call was cancelled and has had no effect.
    case cancelled
}
