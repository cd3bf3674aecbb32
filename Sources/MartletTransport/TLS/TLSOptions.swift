/// The TLS options of a client.
///
/// A client always verifies the server's certificate and its host name. The minimum version is TLS 1.2.
public struct TLSClientOptions: Sendable, Hashable {
    /// The certificates that a client trusts.
    public enum Trust: Sendable, Hashable {
        /// The certificate authorities of the system.
        case system
        /// The certificates in a PEM file.
        case file(String)
        /// The keys of the server's own certificate, without certificate authorities. The second key is the backup: it
        /// is kept offline, for the replacement of the first. Dates and host name are verified as well.
        case pins(TLSPin, backup: TLSPin)
    }

    /// The certificates that the client trusts.
    public var trust: Trust
    /// The client's certificate, for servers that require one.
    public var identity: TLSIdentity?
    /// The name to verify instead of the endpoint's host, for servers that are reached by another name.
    public var serverName: String?

    /// Creates options.
    public init(trust: Trust = .system, identity: TLSIdentity? = nil, serverName: String? = nil) {
        self.trust = trust
        self.identity = identity
        self.serverName = serverName
    }
}

/// The TLS options of a server.
public struct TLSServerOptions: Sendable, Hashable {
    /// The certificates that a server requests from its clients.
    public enum ClientCertificates: Sendable, Hashable {
        /// None.
        case ignored
        /// A client may send a certificate. One that is sent must be issued by a certificate of the PEM file.
        case optional(trustFile: String)
        /// A client must send a certificate that is issued by a certificate of the PEM file.
        case required(trustFile: String)
    }

    /// The server's certificate.
    public var identity: TLSIdentity
    /// The certificates requested from clients.
    public var clientCertificates = ClientCertificates.ignored
    /// A file of ticket keys of 80 random bytes each, at most 16. The first one encrypts tickets, and all decrypt them.
    /// Servers that share the file resume each other's sessions. Without a file, a server has keys of its own, which it
    /// replaces with each reload and at least every 12 hours. While the files of the options cannot be read, the old
    /// keys remain in use, and the server tries again at most once a minute.
    public var ticketKeyFile: String?

    /// Creates options.
    public init(identity: TLSIdentity) {
        self.identity = identity
    }
}

/// A certificate and its private key.
public struct TLSIdentity: Sendable, Hashable {
    /// The path of a PEM file with the certificate, followed by the intermediate certificates.
    public var certificateFile: String
    /// The path of a PEM file with the private key.
    public var keyFile: String

    /// Creates an identity.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
