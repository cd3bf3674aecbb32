package import MartletLink
public import MartletWire

/// The bounds of a relay. Each has a default.
public struct RelayConfiguration: Sendable {
    /// The offered limits; the lower limit of both sides applies.
    public var limits = Limits(maxSessions: Link.maxSessions)
    /// The offered features; those of both sides apply.
    public var features = Features.all
    /// Whether packets to clients pass through a deflate stream, if the client supports it; 39 KiB for each busy link.
    public var deflatesPackets = false
    /// The duration from the accept to a whole hello (W-75, Specs/hostile.md row 5).
    public var handshakeTimeout: Duration = .seconds(5)
    /// The duration from the accept to an accepted hello, regardless of other input (Specs/hostile.md row 6).
    public var authTimeout: Duration = .seconds(10)
    /// The duration from a frame's first byte to its last (C-60, Specs/hostile.md row 5).
    public var frameTimeout: Duration = .seconds(30)
    /// The duration for which a peer may read nothing while output is queued for it (W-75, Specs/hostile.md row 20).
    public var slowConsumerTimeout: Duration = .seconds(10)
    /// The duration for which a connection may be silent; longer than any client's heartbeat interval (C-52).
    public var idleTimeout: Duration = .seconds(1500)
    /// The duration for which a link without a connection is kept for a resume.
    public var resumeLifetime: Duration = .seconds(300)
    /// The maximum number of connections, in all phases. The last sixteenth is for links that are resumed.
    public var maxConnections = 100_000
    /// The maximum number of links, with a connection or without.
    public var maxLinks = 100_000
    /// The maximum number of links of an account, with a connection or without. One more replaces the longest suspended
    /// link; when none is suspended, it is refused with `tooManyLinks` (C-64).
    public var maxLinksPerAccount = 64
    /// The maximum number of suspended links; beyond it the longest suspended link of the account that has most ends
    /// (C-62).
    public var maxSuspendedLinks = 20_000
    /// The maximum number of bytes of the relay's links, connections and rooms, objects counted, divided evenly over
    /// its loops. Beyond it they are evicted in the order of R-48, and new ones are refused. The store is not included.
    /// Less than 16 MiB for each loop is for tests only.
    public var memoryBudget = 1024 * 1024 * 1024
    /// Whether the room policy decides about each session. Otherwise every account may enter every room, with
    /// every permission. `Relay` sets it: it asks every policy except `allowAll`.
    public var asksRoomPolicy = false
    /// The duration of a question to the room policy. A session without an answer is reset with `serverBusy`.
    public var policyTimeout: Duration = .seconds(10)
    /// The use of roles; nil if rooms have none. The store has to keep them.
    public var roomRoles: RoomRolesConfiguration?
    /// The account in whose name `Relay.publish` publishes at a relay without roles; no peer signs in as it. Nil
    /// if there is none. With roles it is `RoomRolesConfiguration.serverAccount`.
    public var serverAccount: AccountName?
    /// Whether the store keeps membership records, so that sessions of accounts are served. The driver sets it.
    package var keepsMemberships = false
    /// The duration after which a message is reported that was not delivered to accounts of its room, above zero. It is
    /// reported after one to two such durations, by scans that visit each record of the room and each of its messages
    /// in memory once.
    public var undeliveredDelay: Duration = .seconds(10)
    /// Whether undelivered messages are reported. The driver sets it.
    package var reportsUndelivered = false
    /// The rate of each account over all of its links; nil without a bound.
    public var accountRate: MessageRate?
    /// The rate of each room, of all its members together; nil without a bound.
    public var roomRate: MessageRate?
    /// The maximum number of refused resumes of a connection (Specs/hostile.md row 23).
    public var maxResumeAttempts = 5
    /// The duration after which a client that was rejected with `serverBusy` may connect again (C-27).
    package var busyRetryAfter: Duration = .seconds(5)
    /// The sequence of each session's first frame, as at the clients (W-11).
    package var firstSequence: UInt64 = 1

    /// The default configuration.
    public init() {}

    /// The account that the relay reserves for itself.
    var reservedAccount: AccountName? { roomRoles?.serverAccount ?? serverAccount }
}

/// The name of a connection: a slot of the engine and the generation of its use. An old key finds nothing.
package struct ConnectionKey: Hashable, Sendable {
    var slot: Int32
    var generation: UInt32

    /// The slot, which no other open connection has.
    package var index: Int { Int(slot) }
}

/// The hash of a resume token, which the relay keeps in place of the token: a reader of its memory cannot resume a link
/// (C-37).
package struct TokenDigest: Sendable, Equatable, CustomStringConvertible {
    /// SHA-256 of the token's 32 bytes, as four big-endian words.
    package let words: (UInt64, UInt64, UInt64, UInt64)

    /// A digest from its four words.
    package init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) {
        words = (a, b, c, d)
    }

    /// Compares in constant time, so that the duration reveals nothing about the token (C-37).
    package static func == (left: TokenDigest, right: TokenDigest) -> Bool {
        let difference =
            (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1)
            | (left.words.2 ^ right.words.2) | (left.words.3 ^ right.words.3)
        return difference == 0
    }

    /// A constant, which reveals nothing about the token.
    package var description: String { "TokenDigest(redacted)" }
}

/// A fresh resume token: the client gets the token, the relay keeps the digest.
package struct TokenGrant: Sendable {
    /// 256 random bits.
    package var token: ResumeToken
    /// The token's SHA-256.
    package var digest: TokenDigest

    /// A token and its digest.
    package init(token: ResumeToken, digest: TokenDigest) {
        self.token = token
        self.digest = digest
    }
}

/// The account and the device that a client claims in its hello; the authenticator verifies them.
public struct AuthenticationRequest: Equatable, Sendable {
    /// The claimed account.
    public var account: AccountName
    /// The claimed device.
    public var device: DeviceID
    /// The mechanism of the authentication exchange that the credential begins; nil if the credential is a token
    /// (C-68).
    public var mechanism: MechanismName?
    /// The proof of the account, or the first message of the exchange.
    public var credential: Credential?
    /// The `tls-exporter` of the connection (RFC 9266), which the driver adds; nil without TLS.
    public var channelBinding: [UInt8]?
    /// The name of the client software, for people.
    public var agent: String?
    /// The presented resume token, which the driver hashes.
    public var presentedToken: ResumeToken?
    /// The client's certificate, which the driver sets; nil without one, and without TLS (C-73).
    public var certificate: PeerCertificate?

    /// Creates a request, for tests of authenticators.
    public init(
        account: AccountName, device: DeviceID, mechanism: MechanismName? = nil, credential: Credential? = nil,
        channelBinding: [UInt8]? = nil, agent: String? = nil, presentedToken: ResumeToken? = nil,
        certificate: PeerCertificate? = nil
    ) {
        self.account = account
        self.device = device
        self.mechanism = mechanism
        self.credential = credential
        self.channelBinding = channelBinding
        self.agent = agent
        self.presentedToken = presentedToken
        self.certificate = certificate
    }
}

/// The driver's answer to an `AuthenticationRequest`, or to a message of an exchange.
package enum AuthenticationAnswer: Sendable {
    /// The peer has to answer this message of the exchange.
    case challenge(Credential)
    /// The proven identity, a fresh token, the digest of the presented token if there is one (C-26), and the last
    /// message of the exchange if there was one.
    case accepted(Identity, TokenGrant, presented: TokenDigest?, final: Credential? = nil)
    /// The peer is refused, for this cause in the log.
    case refused(Notice, cause: String? = nil)
}

/// An action that a relay's engine requests from its driver.
package enum RelayOutput: Sendable {
    /// Authenticate the peer; the result is `authenticated`.
    indirect case authenticate(ConnectionKey, AuthenticationRequest)
    /// Continue the authentication exchange with the peer's answer; the result is `authenticated`.
    indirect case continueExchange(ConnectionKey, Credential)
    /// Ask the room policy; the result is `authorized`. The number of questions without a result is limited.
    indirect case authorize(QuestionID, RoomAuthorizationRequest)
    /// The room policy has not answered a question about this room in time, which counts as its failure.
    case policyOverdue(RoomName)
    /// Call `transmit` for each of these connections as soon as its carrier has room, preferably before the next
    /// output, because their state is in the cache.
    case transmit([ConnectionKey])
    /// End the connection, with `afterFlush` after the output of `transmit` was sent. `closed` follows.
    case close(ConnectionKey, afterFlush: Bool)
    /// Stop reading this connection until `resumeReading`.
    case pauseReading(ConnectionKey)
    /// Continue reading.
    case resumeReading(ConnectionKey)
    /// Load a room; the result is `loaded`.
    case load(RoomName)
    /// Make messages durable and erase earlier ones; the result is `stored` or `logLost`.
    case append(RoomName, [LogEntry], erasing: [MessageErasure])
    /// Keep the progress of accounts in a room; there is no result.
    case saveProgress(RoomName, [AccountName: AccountProgress])
    /// Make the roles of a room durable; the result is `rolesSaved`. With a creation, the store counts the rooms of the
    /// account, and refuses one beyond its maximum.
    indirect case saveRoles(RoomName, [UInt8], creation: RoomCreation?)
    /// Read messages; the result is `read`.
    indirect case read(RoomName, ReadID, ReadRange)
    /// Make changes of membership records durable; the result is `membershipsSaved`. A change that gives an account
    /// more than `MembershipBounds.maxCountPerAccount` records is not saved, and its account is in the result.
    case saveMemberships(RoomName, MembershipChanges)
    /// Read the records of an account; the result is `membershipsRead`.
    indirect case readMemberships(MembershipReadID, MembershipRead)
    /// Answer a request of an account that concerns no room; the result is `respond`.
    indirect case accountRequest(AccountRequestID, Request)
    /// Answer a request without a recipient; the result is `respond`.
    indirect case request(RoomName, MemberHandle, Request)
    /// Call the attachment store; the result is `attachmentAnswered`. Calls may be concurrent.
    indirect case attachment(AttachmentCallID, AttachmentCall)
    /// Pass the reports of undelivered messages to their handler; there is no result.
    case undelivered([UndeliveredReport])
    /// Pass messages to the engine of another loop with `receive`, in their order.
    case send(loop: Int, [LoopMessage])
    /// The connection belongs to another loop: take it with `transfer`, and pass it to the other engine with `adopt`.
    case transfer(ConnectionKey, loop: Int)
    /// A command of `RelayEngine.perform` has a result.
    indirect case commandEnded(UInt64, RoomCommandResult)
    /// An event for a log, and its connection.
    indirect case note(RelayNote, on: ConnectionKey?)
}

/// An event for the log of a relay.
public enum RelayNote: Equatable, Sendable {
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
    /// The room policy, or the roles of the room, refused a device's session in a room.
    case roomRefused(DeviceKey, RoomName)
    /// A device has created a room, or was refused with the code.
    case roomCreated(DeviceKey, RoomName, ErrorCode)
    /// An operation on a room.
    case roomOperation(RoomOperationRecord)
    /// The store has roles of a room that are not valid. The room cannot be opened.
    case rolesInvalid(RoomName, RoomRolesError)
    /// A connection was ended for a fault of the peer.
    case faulted(ErrorCode)
}

/// Counts of a relay's objects and events.
public struct RelayStatistics: Equatable, Sendable {
    /// Current connections.
    public var connections = 0
    /// Accepted connections since the start.
    public var connectionsAccepted: UInt64 = 0
    /// Connections closed at once since the start, because there were too many (C-11) or their address was refused
    /// (C-67).
    public var connectionsRefused: UInt64 = 0
    /// New links refused since the start, because the relay was near its limits.
    public var linksRefused: UInt64 = 0
    /// Current links, with a connection or without.
    public var links = 0
    /// Current links without a connection.
    public var suspendedLinks = 0
    /// Rooms in memory.
    public var rooms = 0
    /// Resumes accepted.
    public var resumes: UInt64 = 0
    /// Resumes refused.
    public var resumesRefused: UInt64 = 0
    /// Connections ended for a fault of the peer.
    public var faults: UInt64 = 0
    /// Messages made durable.
    public var messagesStored: UInt64 = 0
    /// Reports of undelivered messages that were passed to the handler.
    public var undeliveredReports: UInt64 = 0
    /// Reports of undelivered messages that were dropped, because too many waited.
    public var undeliveredReportsDropped: UInt64 = 0

    /// No objects and no events.
    package init() {}

    /// The sum of two loops of one relay.
    package static func + (left: RelayStatistics, right: RelayStatistics) -> RelayStatistics {
        var sum = left
        sum.connections += right.connections
        sum.connectionsAccepted += right.connectionsAccepted
        sum.connectionsRefused += right.connectionsRefused
        sum.linksRefused += right.linksRefused
        sum.links += right.links
        sum.suspendedLinks += right.suspendedLinks
        sum.rooms += right.rooms
        sum.resumes += right.resumes
        sum.resumesRefused += right.resumesRefused
        sum.faults += right.faults
        sum.messagesStored += right.messagesStored
        sum.undeliveredReports += right.undeliveredReports
        sum.undeliveredReportsDropped += right.undeliveredReportsDropped
        return sum
    }
}
