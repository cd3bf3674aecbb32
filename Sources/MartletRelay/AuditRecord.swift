import MartletLink
public import MartletTransport
public import MartletWire

/// An authentication, a decision or a revocation of a relay, for an audit log. It contains no credential and no
/// message.
public struct AuditRecord: Equatable, Sendable {
    /// The kind of event.
    public enum Event: String, Sendable {
        /// A device was authenticated and began a link.
        case signedIn
        /// A device was authenticated and resumed its link.
        case resumed
        /// A hello was refused: its credential, its resume token, its timeout, or for lack of capacity. Or a renewal
        /// was refused, or the credential of a connection has expired.
        case refused
        /// A client certificate was refused in the TLS handshake.
        case certificateRefused
        /// The room policy, or the roles of the room, refused an entry.
        case roomRefused
        /// The operator of another relay of the bus ended the links of an account.
        case kicked
        /// The operator revoked the credentials of an account.
        case revoked
        /// The operator requested new decisions of the room policy.
        case roomDecisionsRevoked
        /// An account has created a room, or was refused with the code.
        case roomCreated
        /// A member has requested an operation on a room, which was performed, or was refused with the code.
        case roomOperation
        /// An account has sent a request for the administration of the relay, which was performed, or was refused with
        /// the code.
        case administration
    }

    /// The kind of event.
    public var event: Event
    /// The account: of a refused hello, the one that the peer claimed; nil if the event concerns all accounts.
    public var account: AccountName?
    /// The device; nil if the event concerns no single device.
    public var device: DeviceID?
    /// The address of the peer; nil if its connection has closed, and for operations of the relay's application.
    public var peer: SocketAddress?
    /// The room; nil if the event concerns no single room.
    public var room: RoomName?
    /// The reason for a refusal.
    public var code: ErrorCode?
    /// The operation on a room.
    public var operation: RoomMethod?
    /// The method of a request for administration.
    public var method: MethodName?
    /// The account that the operation or the request affects.
    public var target: AccountName?
    /// The role, the access, or the duration of a mute that the operation sets.
    public var value: String?
    /// The cause for which a credential or a client certificate was refused. It contains no part of the credential.
    public var reason: String?
    /// The number of refusals that the record represents, of which this event is the last; 1 for any other event.
    public var count = 1

    /// Whether the event is a refusal. A peer can cause any number of refusals. A request of an administrator that has
    /// failed is none.
    public var isRefusal: Bool { event == .administration ? code == .forbidden : code != nil }

    /// Creates the record of an event; nil for an event that is not audited.
    public init?(_ event: RelayEvent) {
        switch event {
        case .note(.link(.linked(let key, _)), let peer): self.init(.signedIn, key, peer)
        case .note(.link(.resumed(let key, _, epoch: _)), let peer): self.init(.resumed, key, peer)
        case .note(.roomRefused(let key, let room), let peer):
            self.init(.roomRefused, key, peer)
            self.room = room
            code = .roomForbidden
        case .note(.link(.refused(let account, let code, let cause)), let peer):
            self.init(.refused, account: account)
            self.peer = peer
            self.code = code
            reason = cause
        case .note(.roomCreated(let key, let room, let status), let peer):
            self.init(.roomCreated, key, peer)
            self.room = room
            code = status == .none ? nil : status
        case .note(.roomOperation(let record), let peer):
            self.init(.roomOperation, record.actor, peer)
            room = record.room
            operation = record.method
            target = record.target
            value = record.value
            code = record.status == .none ? nil : record.status
        case .note(.administered(let record), let peer):
            self.init(.administration, record.actor, peer)
            room = record.room
            method = record.method
            target = record.target
            code = record.status == .none ? nil : record.status
        case .tlsFailed(let error, let peer?) where error.concernsCertificate:
            self.init(.certificateRefused, account: nil)
            self.peer = peer
            code = .unauthenticated
            reason = "\(error)"
        case .revoked(let account): self.init(.revoked, account: account)
        case .kicked(let account, by: _): self.init(.kicked, account: account)
        case .roomDecisionsRevoked(let account, let room):
            self.init(.roomDecisionsRevoked, account: account)
            self.room = room
        case .note(.link(.suspended), _), .note(.link(.ended), _), .note(.link(.faulted), _), .note(.rolesInvalid, _),
            .connectionsRefused, .proxyRefused, .busFaulted, .busNameShared,
            .drainRequested, .acceptingPaused, .diskSpaceChanged, .tlsFailed, .webSocketFailed,
            .storeFailed, .storeRecovered, .membershipsFailed, .attachmentsFailed, .authenticatorFailed,
            .authenticationRefused, .policyFailed, .undeliveredFailed, .undeliveredReportsDropped:
            return nil
        }
    }

    private init(_ event: Event, account: AccountName?) {
        self.event = event
        self.account = account
    }

    private init(_ event: Event, _ key: DeviceKey, _ peer: SocketAddress?) {
        self.init(event, account: key.account)
        device = key.device
        self.peer = peer
    }
}

extension TLSError {
    /// Whether the error is a refusal of the peer's certificate.
    fileprivate var concernsCertificate: Bool {
        switch self {
        case .expired, .notYetValid, .unknownIssuer, .selfSigned, .weakKey, .invalidCertificate, .missingCertificate:
            true
        case .invalidFile, .keyMismatch, .invalidHost, .wrongHost, .pinMismatch, .noCommonVersion, .noCommonProtocol,
            .notTLS, .alert, .truncatedHandshake, .limitExceeded, .protocolError:
            false
        }
    }
}
