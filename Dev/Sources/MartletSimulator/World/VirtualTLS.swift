import MartletLink
package import MartletTransport

/// The certificates for TLS in virtual worlds.
///
/// OpenSSL draws its own random numbers, which a seed does not determine. They do not change the course of a run: the
/// records of application data have the same lengths in every run, and the messages of a handshake count as
/// `handshakeByteCount`. RSA keys are used because signatures of ECDSA vary in length.
package struct VirtualTLS: Sendable {
    /// The bytes that the messages of one side in one step of a handshake occupy on the path.
    static let handshakeByteCount = 1500

    private let authority: TLSIdentity
    private let server: TLSIdentity

    /// Makes the certificates in a folder, from which they are read as long as worlds use them. Throws
    /// `TLSError.invalidFile`.
    package init(folder: String) throws(TLSError) {
        authority = TLSIdentity(certificateFile: folder + "/authority.pem", keyFile: folder + "/authority.key")
        server = TLSIdentity(certificateFile: folder + "/server.pem", keyFile: folder + "/server.key")
        var request = TLSCertificateRequest(commonName: "Virtual Authority")
        request.rsaBitCount = 2048
        request.isAuthority = true
        try request.make(authority)
        request = TLSCertificateRequest(commonName: "relay")
        request.rsaBitCount = 2048
        request.hosts = [Self.host]
        request.issuer = authority
        try request.make(server)
    }

    private static let host = "relay.example"

    static func makeEndpoint() throws -> Endpoint { try Endpoint(host: host) }

    func makeServer() throws -> TLSServer { try TLSServer(TLSServerOptions(identity: server)) }

    func makeClient() throws -> TLSClient {
        try TLSClient(TLSClientOptions(trust: .file(authority.certificateFile)))
    }
}

/// The TLS of a world: a server, whose ticket keys are replaced with the relay, and a client in each process.
final class VirtualTLSWorld {
    private let certificates: VirtualTLS
    private var server: TLSServer?
    private var clients: [Int: TLSClient] = [:]
    /// Completed handshakes.
    var handshakeCount = 0
    /// Handshakes that resumed a session.
    var resumptionCount = 0
    /// Errors of TLS. No fault of a virtual path causes one.
    var failures: [String] = []

    init(_ certificates: VirtualTLS) {
        self.certificates = certificates
    }

    /// Replaces the server, because the relay's process was restarted. Tickets of the earlier process are no longer
    /// accepted.
    func restartServer() {
        server = nil
    }

    /// Replaces a client, because its process was restarted. Its sessions are lost.
    func restartClient(_ index: Int) {
        clients[index] = nil
    }

    /// Both ends of a connection; nil after a failure.
    func connect(_ index: Int) -> VirtualTLSConnection? {
        do {
            let client = try clients[index] ?? certificates.makeClient()
            clients[index] = client
            let server = try server ?? certificates.makeServer()
            self.server = server
            guard let relay = TLSStream(server: server) else { throw TLSError.protocolError("no memory") }
            return VirtualTLSConnection(
                client: try TLSStream(client: client, to: VirtualTLS.makeEndpoint()), relay: relay)
        } catch {
            failures.append("\(error)")
            return nil
        }
    }
}

/// Both ends of the TLS of a connection.
struct VirtualTLSConnection {
    let client: TLSStream
    let relay: TLSStream

    subscript(atRelay atRelay: Bool) -> TLSStream { atRelay ? relay : client }
}
