/// The certificate of a peer that a TLS handshake has verified (RFC 5280).
///
/// The texts are those of the certificate. They may contain invisible characters.
public struct PeerCertificate: Hashable, Sendable {
    /// The common name of the subject; nil without one.
    public var commonName: String?
    /// The host names among the subject's alternative names (dNSName), in the order of the certificate.
    public var hostNames: [String]
    /// The e-mail addresses among the subject's alternative names (rfc822Name), in the order of the certificate.
    public var emailAddresses: [String]
    /// The URIs among the subject's alternative names (uniformResourceIdentifier), in the order of the certificate.
    public var uris: [String]
    /// The SHA-256 of the SubjectPublicKeyInfo (RFC 7469 §2.4), 32 bytes.
    public var publicKeyDigest: [UInt8]
    /// The end of validity, in seconds since 1970.
    public var notAfter: Int64

    /// Creates the properties of a certificate.
    public init(
        commonName: String? = nil, hostNames: [String] = [], emailAddresses: [String] = [], uris: [String] = [],
        publicKeyDigest: [UInt8] = [], notAfter: Int64
    ) {
        self.commonName = commonName
        self.hostNames = hostNames
        self.emailAddresses = emailAddresses
        self.uris = uris
        self.publicKeyDigest = publicKeyDigest
        self.notAfter = notAfter
    }
}
