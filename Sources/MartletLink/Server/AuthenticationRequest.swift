public import MartletWire

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
    /// Whether the connection has TLS, which the driver sets (C-68).
    public var hasTLS: Bool
    /// The `tls-exporter` of the connection (RFC 9266), which the driver adds to a request with a mechanism. It is nil
    /// without TLS, and with a TLS that has none: see ``hasTLS``.
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
        hasTLS: Bool = false, channelBinding: [UInt8]? = nil, agent: String? = nil, presentedToken: ResumeToken? = nil,
        certificate: PeerCertificate? = nil
    ) {
        self.account = account
        self.device = device
        self.mechanism = mechanism
        self.credential = credential
        self.hasTLS = hasTLS
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
