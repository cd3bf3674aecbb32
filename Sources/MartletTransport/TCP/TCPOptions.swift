import CMartletSystem

/// The options of a TCP connection. TCP_NODELAY is always on, and SO_KEEPALIVE always off, because the protocol has
/// heartbeats.
public struct TCPOptions: Sendable, Equatable {
    /// TCP_NOTSENT_LOWAT: the maximum number of unsent bytes in the kernel, so that urgent bytes do not wait behind
    /// megabytes. nil keeps the system's default.
    public var notSentLowWaterByteCount: Int? = 64 << 10
    /// TCP_USER_TIMEOUT: the maximum time that sent bytes stay unacknowledged before the kernel closes the connection.
    /// nil keeps the system's default. The default equals the timeout of the protocol's own acknowledgements (C-60).
    public var userTimeout: Duration? = .seconds(60)
    /// TCP_THIN_LINEAR_TIMEOUTS: while few packets are in flight, the first six retransmission timeouts do not double.
    /// Without effect where the system lacks the option.
    public var hasLinearTimeouts = true
    /// TCP_RTO_MAX_MS: the maximum retransmission timeout, 1 s or more. The maximum of RFC 6298 §2.5 is at least 60 s,
    /// longer than most outages of a mobile network. nil keeps the system's default. Without effect before Linux 6.15.
    public var maxRetransmissionTimeout: Duration? = .seconds(1)
    /// TCP_RTO_MIN_US: the minimum allowance for the variation of the round-trip time in the retransmission timeout, at
    /// most 1 s. The allowance of Linux is 200 ms, which doubles the timeout on a path with a round trip of 200 ms. nil
    /// keeps the system's default. Without effect before Linux 6.15.
    public var minRetransmissionTimeout: Duration? = .milliseconds(40)
    /// Multipath TCP (RFC 8684), if both systems support it: the connection survives the loss of one path.
    public var usesMultipath = false
    /// The maximum duration of `close(afterFlush: true)`; then the connection is reset (C-40, C-60).
    public var closeTimeout: Duration = .seconds(1)
    /// SO_SNDBUF in bytes; nil keeps the system's automatic size.
    public var sendBufferByteCount: Int?
    /// SO_RCVBUF in bytes; nil keeps the system's automatic size.
    public var receiveBufferByteCount: Int?

    /// Creates the default options.
    public init() {}

    // MARK: - Socket

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

/// The options shared by all connections of a listener or connector.
final class SharedTCPOptions: Sendable {
    let options: TCPOptions

    init(_ options: TCPOptions) {
        self.options = options
    }
}
