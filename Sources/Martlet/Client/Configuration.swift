public import MartletProtocol
public import MartletWire

extension Client {
    /// The bounds and the manners of a client.
    public struct Configuration: Sendable {
        /// The software's name, for the relay's log; at most 128 bytes.
        public var agent: String?
        /// What is offered to the relay; the lower of both sides' limits holds.
        public var limits = Limits()
        /// Whether frames are written in the short form of version 1.1 where the relay reads it.
        public var usesCompactFrames = true
        /// Whether messages are deflated where that makes them smaller: small ones with all that went before as their
        /// context where the relay reads that, which takes 268 KiB while the client talks, and 44 KiB where the relay
        /// does the same. A message that holds a secret beside text of another's choosing should not be
        /// (``OutgoingMessage/isCompressible``).
        public var compressesMessages = false
        /// How eagerly a silent relay is asked whether it is there.
        public var heartbeat = HeartbeatStrategy.balanced
        /// When to connect again.
        public var reconnect = ReconnectPolicy.Configuration()
        /// How long `stop` waits for messages to be accepted, and then for the outbox.
        public var flushTimeout: Duration = .seconds(5)
        /// How long one attempt to connect may take, the name's resolution included.
        public var connectTimeout: Duration = .seconds(15)
        /// Whether the machine's network is watched, so that a change is answered at once. Not done for a relay on this
        /// machine.
        public var watchesPath = true
        /// Whether connections are of multipath TCP (RFC 8684) where this machine and the relay's have it.
        public var usesMultipath = false
        /// Rooms open at a time, at the most.
        public var maxRooms = 255
        /// Messages of one room that wait to be accepted, at the most; `send` waits beyond it. Less than 1 counts as 1.
        public var maxPendingMessages = 4096
        /// Bytes of content of one room's messages that wait to be accepted, at the most; `send` waits beyond it.
        public var maxPendingByteCount = 4 * 1024 * 1024
        /// Requests that wait for answers, at the most. A relay answers `tooManyRequests` beyond a bound of its own,
        /// for each member of a room: 64 in ``MartletRelay``.
        public var maxRequests = 1024

        /// The defaults.
        public init() {}

        /// What a message's fields other than its content take, in bytes.
        static let maxMessageOverhead = 512

        /// The most bytes of content in one message.
        var maxContentByteCount: Int { limits.maxMessageByteCount - Self.maxMessageOverhead }
    }
}
