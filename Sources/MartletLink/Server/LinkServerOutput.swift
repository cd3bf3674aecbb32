package import MartletMetrics
public import MartletWire

/// An action that a server's links request of their driver, or an event for its log.
package enum LinkServerOutput: Sendable {
    /// Authenticate the peer; the result is `authenticated`.
    indirect case authenticate(ConnectionKey, AuthenticationRequest)
    /// Continue the authentication exchange with the peer's answer; the result is `authenticated`.
    indirect case continueExchange(ConnectionKey, Credential)
    /// Call `transmit` for each of these connections as soon as its carrier has room, preferably before the next
    /// output, because their state is in the cache.
    case transmit([ConnectionKey])
    /// End the connection, with `afterFlush` after the output of `transmit` was sent. `closed` follows.
    case close(ConnectionKey, afterFlush: Bool)
    /// Stop reading this connection until `resumeReading`.
    case pauseReading(ConnectionKey)
    /// Continue reading.
    case resumeReading(ConnectionKey)
    /// The connection belongs to another loop: take it with `transfer`, and pass it to the other server with `adopt`.
    case transfer(ConnectionKey, loop: Int)
    /// An event for a log, and its connection.
    indirect case note(LinkNote, on: ConnectionKey?)
}

/// An event of a link or a connection, for the log of a server.
public enum LinkNote: Equatable, Sendable {
    /// A device began a new link.
    case linked(DeviceKey, LinkID)
    /// A device resumed its link.
    case resumed(DeviceKey, LinkID, epoch: Epoch)
    /// A link lost its connection and may be resumed.
    case suspended(DeviceKey, LinkID)
    /// A link ended.
    case ended(DeviceKey, LinkID)
    /// A hello or the renewal of a credential was refused, or the credential of a connection has expired. The cause
    /// contains no credential.
    case refused(AccountName, ErrorCode, cause: String? = nil)
    /// A connection was ended for a fault of the peer.
    case faulted(ErrorCode)
}

/// Counts of the connections and links of a server, and of their past events.
package struct LinkServerStatistics: Equatable, Sendable {
    package var connectionsAccepted: UInt64 = 0
    package var connectionsRefused: UInt64 = 0
    package var linksRefused: UInt64 = 0
    package var resumes: UInt64 = 0
    /// Connections ended for a fault of the peer, by code.
    package var faults = CodeCounts()
    /// Refused peers, by code.
    package var refusals = CodeCounts()
    /// Links begun.
    package var linksBegun: UInt64 = 0
    /// The durations from accept to welcome.
    package var handshakes = Histogram()

    package init() {}

    package static func += (sum: inout LinkServerStatistics, other: LinkServerStatistics) {
        sum.connectionsAccepted += other.connectionsAccepted
        sum.connectionsRefused += other.connectionsRefused
        sum.linksRefused += other.linksRefused
        sum.resumes += other.resumes
        sum.faults += other.faults
        sum.refusals += other.refusals
        sum.linksBegun += other.linksBegun
        sum.handshakes += other.handshakes
    }
}
