package import MartletWire

/// The identity of a client's link, and its bounds.
package struct LinkConfiguration: Sendable {
    /// The requested account.
    package var account: AccountName
    /// The device ID. A server keeps one link for each device of an account (C-2).
    package var device: DeviceID
    /// The name of the software, for the server's log; at most 128 bytes.
    package var agent: String?
    /// The offered limits. For each limit, the lower of both endpoints' values is in effect.
    package var limits = Limits()
    /// The offered features. Those of both endpoints are in effect.
    package var features = Features.supported
    /// The guarantees of the carrier.
    package var carrier = Carrier.reliable
    /// The timeouts of the states of a connection.
    package var deadlines = ConnectionMachine.Deadlines()
    /// The times between connection attempts.
    package var reconnect = ReconnectPolicy.Configuration()
    /// The intervals at which a silent server is sent pings.
    package var heartbeat = HeartbeatStrategy.balanced
    /// Whether message bodies are deflated if they become smaller and the server supports it.
    ///
    /// Compression costs some microseconds for each message. A body that contains a secret beside text from another
    /// user must not be compressed (W-20).
    package var compressesMessages = false
    /// The maximum number of bytes of a flight recording; 0 for none.
    package var recordingByteCount = 256 << 10
    /// The sequence of the first frame of each session. A simulation sets it near the end of 32 bits (W-11).
    package var firstSequence: UInt64 = 1

    /// Creates a configuration with the default bounds.
    package init(account: AccountName, device: DeviceID, agent: String? = nil) {
        self.account = account
        self.device = device
        self.agent = agent
    }
}
