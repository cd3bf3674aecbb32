import CMartletSystem

/// What can be set on a TCP connection. TCP_NODELAY is always on, SO_KEEPALIVE always off (the protocol has
/// heartbeats).
public struct TCPOptions: Sendable, Equatable {
    /// TCP_NOTSENT_LOWAT: how many unsent bytes the kernel may hold, in bytes, so that what is urgent never waits
    /// behind megabytes. nil leaves it to the system.
    public var notSentLowWaterByteCount: Int? = 64 << 10
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged before the kernel gives the connection up.
    /// nil leaves it to the system.
    public var userTimeout: Duration?
    /// How long `close(afterFlush: true)` may take in all; then the connection is reset (C-40, C-60).
    public var closeTimeout: Duration = .seconds(1)
    /// SO_SNDBUF in bytes; nil leaves it to the system, which adapts it.
    public var sendBufferByteCount: Int?
    /// SO_RCVBUF in bytes; nil leaves it to the system, which adapts it.
    public var receiveBufferByteCount: Int?

    /// The defaults.
    public init() {}

    func apply(to descriptor: borrowing FileDescriptor) {
        martlet_socket_configure(
            descriptor.number,
            martlet_socket_options(
                unsent_low_water: notSentLowWaterByteCount.map { Int32(clamping: $0) } ?? -1,
                user_timeout_milliseconds: userTimeout.map { Int32(clamping: $0.nanosecondCount / 1_000_000) } ?? -1,
                send_buffer: sendBufferByteCount.map { Int32(clamping: $0) } ?? -1,
                receive_buffer: receiveBufferByteCount.map { Int32(clamping: $0) } ?? -1))
    }
}
