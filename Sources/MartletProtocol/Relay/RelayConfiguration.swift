public import MartletWire

/// The bounds of a relay; every one has a default.
public struct RelayConfiguration: Sendable {
    /// What is offered to clients; the lower of both sides' limits holds.
    public var limits = Limits(maxSessions: Link.maxSessions)
    /// What is offered to clients; what both sides have holds.
    public var features = Features.all
    /// Whether what goes to clients passes through a deflate stream where they read that; 39 KiB for each that is
    /// talked to.
    public var deflatesPackets = false
    /// From the connection to a whole hello (W-75, Specs/hostile.md row 5).
    public var handshakeTimeout: Duration = .seconds(5)
    /// From the connection to an accepted hello, whatever else arrives (Specs/hostile.md row 6).
    public var authTimeout: Duration = .seconds(10)
    /// From a frame's first byte to its last (C-60, Specs/hostile.md row 5).
    public var frameTimeout: Duration = .seconds(30)
    /// How long a peer may not read while there is something for it (W-75, Specs/hostile.md row 20).
    public var slowConsumerTimeout: Duration = .seconds(10)
    /// How long a connection may be silent; longer than any client's heartbeat interval (C-52).
    public var idleTimeout: Duration = .seconds(1500)
    /// How long a link without a connection is kept for its device to resume.
    public var resumeLifetime: Duration = .seconds(300)
    /// Connections at the most, in whatever phase.
    public var maxConnections = 100_000
    /// Links at the most, with a connection or without.
    public var maxLinks = 100_000
    /// Links of one account at the most, with a connection or without. One more takes the place of its link that has
    /// been without for longest; when all have one, it is refused with `tooManyLinks` (C-64).
    public var maxLinksPerAccount = 64
    /// Links without a connection at the most; beyond it the account that has most of them loses the one that has been
    /// without for longest (C-62).
    public var maxSuspendedLinks = 20_000
    /// Bytes that the relay's links, connections and rooms take together at the most, objects counted, divided evenly
    /// over its loops; beyond it they give way in the order of R-48, and what is new is refused. What the store keeps
    /// is not among them. Less than 16 MiB for each loop is meant for tests only.
    public var memoryBudget = 1024 * 1024 * 1024
    /// Resumes that a connection may try in vain (Specs/hostile.md row 23).
    public var maxResumeAttempts = 5
    /// The sequence of each session's first frame, as its clients have it (W-11).
    package var firstSequence: UInt64 = 1

    /// The defaults.
    public init() {}
}

/// A connection's place in the engine; an old key finds nothing.
public struct ConnectionKey: Hashable, Sendable {
    var slot: Int32
    var generation: UInt32

    /// A small number that no other open connection has.
    package var index: Int { Int(slot) }
}

/// The hash of a resume token: what a relay keeps, so that reading its memory gives nobody a link (C-37).
public struct TokenDigest: Sendable, Equatable, CustomStringConvertible {
    /// SHA-256 of the token's 32 bytes, as four big-endian words.
    public let words: (UInt64, UInt64, UInt64, UInt64)

    /// A digest from its four words.
    public init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) {
        words = (a, b, c, d)
    }

    /// Compares in constant time: how much of a guess was right must not show (C-37).
    public static func == (left: TokenDigest, right: TokenDigest) -> Bool {
        let difference =
            (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1)
            | (left.words.2 ^ right.words.2) | (left.words.3 ^ right.words.3)
        return difference == 0
    }

    /// Says nothing about the token.
    public var description: String { "TokenDigest(redacted)" }
}

/// A fresh resume token: the client gets the token, the relay keeps the digest.
public struct TokenGrant: Sendable {
    /// 256 random bits.
    public var token: ResumeToken
    /// The token's SHA-256.
    public var digest: TokenDigest

    /// A token and its digest.
    public init(token: ResumeToken, digest: TokenDigest) {
        self.token = token
        self.digest = digest
    }
}

/// What a client says of itself in hello; the shell decides whether it is so.
public struct AuthenticationRequest: Equatable, Sendable {
    /// The account it wants to be.
    public var account: AccountName
    /// The device it says it is.
    public var device: DeviceID
    /// What it shows for it.
    public var credential: Credential?
    /// The software's name, for people.
    public var agent: String?
    /// The resume token it presents, to be hashed by the shell.
    public var presentedToken: ResumeToken?

    /// What a client says; an authenticator's own tests make these.
    public init(
        account: AccountName, device: DeviceID, credential: Credential? = nil, agent: String? = nil,
        presentedToken: ResumeToken? = nil
    ) {
        self.account = account
        self.device = device
        self.credential = credential
        self.agent = agent
        self.presentedToken = presentedToken
    }
}

/// The shell's answer to an `AuthenticationRequest`.
public enum AuthenticationAnswer: Sendable {
    /// It is this account; with a fresh token, and the digest of the token it presented if it did (C-26).
    case accepted(AccountName, TokenGrant, presented: TokenDigest?)
    /// It is not let in.
    case refused(Notice)
}

/// What a relay engine wants done by its shell.
public enum RelayOutput: Sendable {
    /// Check who this is, and answer with `authenticated`.
    case authenticate(ConnectionKey, AuthenticationRequest)
    /// Ask `transmit` for bytes of each of these as soon as it can take some, best of all before the next output is
    /// taken: what they have to send is at hand now.
    case transmit([ConnectionKey])
    /// End the connection; with `afterFlush` what `transmit` still gives goes out first. `closed` follows as
    /// ever.
    case close(ConnectionKey, afterFlush: Bool)
    /// Read no more from this connection until `resumeReading`.
    case pauseReading(ConnectionKey)
    /// Read again.
    case resumeReading(ConnectionKey)
    /// Load a room and answer with `loaded`.
    case load(RoomName)
    /// Make messages durable and answer with `stored`.
    case append(RoomName, [LogEntry])
    /// Read messages and answer with `read`.
    case read(RoomName, MemberHandle, ReadRange)
    /// Answer a request that names no recipient, with `respond`.
    case request(RoomName, MemberHandle, Request)
    /// Another loop is to be told this, with `receive`, in the order in which it was said.
    case send(loop: Int, [LoopMessage])
    /// The connection belongs to another loop: take it out with `transfer`, for the other's engine to `adopt`.
    case transfer(ConnectionKey, loop: Int)
    /// Something worth a line in a log, and the connection that it is about.
    case note(RelayNote, on: ConnectionKey?)
}

/// What a relay engine tells those who watch it.
public enum RelayNote: Equatable, Sendable {
    /// A device began a new link.
    case linked(DeviceKey, LinkID)
    /// A device resumed its link.
    case resumed(DeviceKey, LinkID, epoch: Epoch)
    /// A link lost its connection and waits to be resumed.
    case suspended(DeviceKey, LinkID)
    /// A link is gone.
    case ended(DeviceKey, LinkID)
    /// A hello was not accepted.
    case refused(AccountName, ErrorCode)
    /// A connection was ended for a fault of the peer's.
    case faulted(ErrorCode)
}

/// What a relay has done since it began.
public struct RelayStatistics: Equatable, Sendable {
    /// Connections now, and since the beginning.
    public var connections = 0
    /// Connections since the beginning.
    public var connectionsAccepted: UInt64 = 0
    /// Links now, with a connection or without.
    public var links = 0
    /// Links now that wait to be resumed.
    public var suspendedLinks = 0
    /// Rooms in memory.
    public var rooms = 0
    /// Resumes accepted.
    public var resumes: UInt64 = 0
    /// Resumes refused.
    public var resumesRefused: UInt64 = 0
    /// Connections ended for a fault of the peer's.
    public var faults: UInt64 = 0
    /// Messages made durable.
    public var messagesStored: UInt64 = 0

    /// Nothing yet.
    public init() {}

    /// What two loops of one relay have done.
    public static func + (left: RelayStatistics, right: RelayStatistics) -> RelayStatistics {
        var sum = left
        sum.connections += right.connections
        sum.connectionsAccepted += right.connectionsAccepted
        sum.links += right.links
        sum.suspendedLinks += right.suspendedLinks
        sum.rooms += right.rooms
        sum.resumes += right.resumes
        sum.resumesRefused += right.resumesRefused
        sum.faults += right.faults
        sum.messagesStored += right.messagesStored
        return sum
    }
}
