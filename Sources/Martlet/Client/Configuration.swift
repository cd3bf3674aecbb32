public import MartletLink
public import MartletTransport
public import MartletWire

extension Client {
    /// The limits, timeouts and optional features of a client.
    ///
    /// A client with a value out of its range is not created: its initializer throws `invalidConfiguration`.
    public struct Configuration: Sendable {
        /// The name and version of the application, for the relay's log. A longer text is truncated to 128 bytes.
        public var agent: String?
        /// The limits that the client proposes. For each limit, the lower of the client's and the relay's value is in
        /// effect.
        public var limits = Limits()
        /// Whether the client writes compact frames to a relay that supports version 1.1 of the protocol.
        public var usesCompactFrames = true
        /// Whether the client compresses messages that become smaller by compression.
        ///
        /// If the relay supports it, the small messages of a link share one deflate stream, which needs 268 KiB of
        /// memory while the client sends, and 44 KiB while the relay sends. The size of a compressed message reveals
        /// part of its content. Exclude a message that contains a secret beside text from another user by
        /// ``OutgoingMessage/isCompressible``.
        public var compressesMessages = false
        /// The intervals at which the client sends pings to a silent relay.
        public var heartbeat = HeartbeatStrategy.balanced
        /// The times between connection attempts.
        public var reconnect = ReconnectPolicy.Configuration()
        /// The duration for which ``Client/stop()`` waits for the acceptance of queued messages, and then again for the
        /// outbox; not negative.
        public var flushTimeout: Duration = .seconds(5)
        /// The maximum duration of a connection attempt, including name resolution; positive.
        public var connectTimeout: Duration = .seconds(15)
        /// Whether the client monitors the network interfaces and reacts to changes immediately. A client of a relay on
        /// the same machine does not monitor them.
        public var watchesPath = true
        /// The trusted certificates and other options of TLS.
        public var tls = TLSClientOptions()
        /// Whether the client connects to other machines without TLS, and uses passwords without it, if an address has
        /// the scheme `martlet://`. Then anybody on the network path can read and change messages, and take over the
        /// account.
        public var allowsPlaintext = false
        /// Whether connections use Multipath TCP (RFC 8684) where both machines support it.
        public var usesMultipath = false
        /// The proxies on the way to other machines.
        public var proxies = ProxyConfiguration.automatic
        /// Whether the client tries a WebSocket on port 443 of the relay's host, with the same verification of its
        /// certificate, if a connection with TLS to the default port fails or is not established at once. It does not
        /// with a password and with a certificate of its own, since a proxy in front of the relay may end TLS there.
        public var usesWebSocketFallback = true
        /// The maximum number of open rooms, from 1 to 224. Rooms that the client opens to send messages of an earlier
        /// client do not count; at most 16 of them are open at a time. A relay may permit fewer sessions (``limits``):
        /// a room beyond them is closed with `tooManySessions`.
        public var maxRooms = RoomTable.maxVisibleCount
        /// The maximum number of unaccepted messages of a room, at least 1. Beyond it,
        /// ``Room/send(_:)-(OutgoingMessage)`` waits.
        public var maxPendingMessages = 4096
        /// The maximum size of the content of a room's unaccepted messages, in bytes, at least 1. Beyond it,
        /// ``Room/send(_:)-(OutgoingMessage)`` waits. A larger message is refused with
        /// `messageTooLarge`.
        public var maxPendingByteCount = 4 * 1024 * 1024
        /// The maximum number of requests without an answer, at least 1. A relay limits the requests of each member of
        /// a room separately, 64 in MartletRelay, and answers further ones with `tooManyRequests`.
        public var maxRequests = 1024
        /// The bounds of the points that ``Client/telemetry`` records; nil to record none.
        public var telemetry: Telemetry.Configuration?

        /// The maximum size of ``Client/flightRecording`` in bytes, at least 32 KiB; 0 for no recording.
        public var recordingByteCount = 256 * 1024
        /// The folder of the flight recordings that the client writes when a fault has ended a connection, for example
        /// a violation of the protocol: at most 8 files, which only their owner can read; nil for none.
        public var recordingFolder: String?

        /// A set of values for ``heartbeat`` and ``reconnect``.
        public enum Preset: Sendable, CaseIterable {
            /// An application with a user, the default.
            case interactive
            /// A program on a server, for example a bot: it reconnects as soon as its relay listens again.
            case server
            /// A device that saves energy: fewer pings, and up to 5 min between attempts.
            case calm
        }

        /// A closure that receives events for a log; nil for none. It is called on the thread of the client's loop, and
        /// returns quickly.
        public var logger: (@Sendable (LogEvent) -> Void)?

        /// Creates a configuration with a preset; all other values are the defaults.
        public init(_ preset: Preset = .interactive) {
            switch preset {
            case .interactive: break
            case .server: reconnect = .server
            case .calm:
                reconnect = .calm
                heartbeat = .conservative
            }
        }

        /// The first property out of its range, and the range; nil if all are valid.
        var fault: String? {
            if connectTimeout <= .zero { return "connectTimeout is not positive" }
            if flushTimeout < .zero { return "flushTimeout is negative" }
            let bounds: [(name: String, value: Int)] =
                [
                    ("maxRooms", maxRooms), ("maxPendingMessages", maxPendingMessages),
                    ("maxPendingByteCount", maxPendingByteCount), ("maxRequests", maxRequests),
                ] + (telemetry?.bounds ?? [])
            if let bound = bounds.first(where: { $0.value < 1 }) {
                return "\(bound.name) is \(bound.value), not at least 1"
            }
            guard recordingByteCount == 0 || (32 << 10...16 << 20).contains(recordingByteCount) else {
                return "recordingByteCount is \(recordingByteCount), not 0 or from 32 KiB to 16 MiB"
            }
            let limit = RoomTable.maxVisibleCount
            return maxRooms > limit ? "maxRooms is \(maxRooms), not at most \(limit)" : nil
        }

        /// The maximum size of a message's fields other than its content, in bytes.
        static let maxMessageOverhead = 512

        /// The maximum size of a message's content, in bytes.
        var maxContentByteCount: Int { limits.maxMessageByteCount - Self.maxMessageOverhead }
    }
}
