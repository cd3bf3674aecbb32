import CMartletSystem

/// What can be set on a TCP connection. TCP_NODELAY is always on, SO_KEEPALIVE always off (the protocol has
/// heartbeats).
public struct TCPOptions: Sendable, Equatable {
    /// TCP_NOTSENT_LOWAT: how many unsent bytes the kernel may hold, in bytes, so that what is urgent never waits
    /// behind megabytes. nil leaves it to the system.
    public var notSentLowWaterByteCount: Int? = 64 << 10
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged before the kernel gives the connection up.
    /// nil leaves it to the system. By default as long as the protocol waits for its own acknowledgements (C-60).
    public var userTimeout: Duration? = .seconds(60)
    /// TCP_THIN_LINEAR_TIMEOUTS: while few packets are under way, what is lost is repeated at an even pace, six times,
    /// instead of at twice the interval each time. Without effect where the system has no such thing.
    public var hasLinearTimeouts = true
    /// TCP_RTO_MAX_MS: what TCP's timeout may grow to while it repeats what is lost, from 1 s up; RFC 6298 §2.5 has a
    /// minute at the least, in which a phone has been through its tunnel and back. nil leaves it to the system. Without
    /// effect before Linux 6.15.
    public var maxRetransmissionTimeout: Duration? = .seconds(1)
    /// TCP_RTO_MIN_US: what TCP's timeout leaves at least for the round trip to vary, up to 1 s. RFC 6298 §2.4 has a
    /// second for the whole, Linux 200 ms: on a path of 200 ms that is twice what a packet that is not lost takes. nil
    /// leaves it to the system. Without effect before Linux 6.15.
    public var minRetransmissionTimeout: Duration? = .milliseconds(40)
    /// Multipath TCP (RFC 8684), where both systems have it: the connection survives the loss of one of its paths.
    public var usesMultipath = false
    /// How long `close(afterFlush: true)` may take in all; then the connection is reset (C-40, C-60).
    public var closeTimeout: Duration = .seconds(1)
    /// SO_SNDBUF in bytes; nil leaves it to the system, which adapts it.
    public var sendBufferByteCount: Int?
    /// SO_RCVBUF in bytes; nil leaves it to the system, which adapts it.
    public var receiveBufferByteCount: Int?

    /// The defaults.
    public init() {}

    // MARK: On a socket

    func apply(to descriptor: borrowing FileDescriptor) {
        martlet_socket_configure(
            descriptor.number,
            martlet_socket_options(
                unsent_low_water: notSentLowWaterByteCount.map { Int32(clamping: $0) } ?? -1,
                user_timeout_milliseconds: userTimeout.map(milliseconds) ?? -1,
                send_buffer: sendBufferByteCount.map { Int32(clamping: $0) } ?? -1,
                receive_buffer: receiveBufferByteCount.map { Int32(clamping: $0) } ?? -1,
                linear_timeouts: hasLinearTimeouts ? 1 : 0,
                max_retransmission_timeout_milliseconds: maxRetransmissionTimeout.map(milliseconds) ?? -1,
                min_retransmission_timeout_milliseconds: minRetransmissionTimeout.map(milliseconds) ?? -1))
    }

    private func milliseconds(_ duration: Duration) -> Int32 { Int32(clamping: duration.nanosecondCount / 1_000_000) }
}

/// The options of all connections of one listener or connector.
final class SharedTCPOptions: Sendable {
    let options: TCPOptions

    init(_ options: TCPOptions) {
        self.options = options
    }
}
