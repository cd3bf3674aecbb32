package import Foundation
package import MartletTransport

/// Certificates in a temporary directory, made once for all tests.
package struct TestCertificates: Sendable {
    package static let shared = TestCertificates()

    package let directory: URL
    /// Issues all certificates but `foreign`, `selfSigned` and `foreignAuthority`.
    package let authority: TLSIdentity
    /// For localhost, 127.0.0.1 and ::1.
    package let server: TLSIdentity

    private init() {
        directory = FileManager.default.temporaryDirectory.appending(path: "martlet-tls-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            authority = try Self.make("Test Authority", in: directory) { $0.isAuthority = true }
            server = try Self.make("server", in: directory, issuer: authority) {
                $0.hosts = ["localhost"]
                $0.addresses = ["127.0.0.1", "::1"]
            }
        } catch {
            fatalError("\(error)")
        }
    }

    /// Makes a certificate for localhost, issued by the authority, with changes.
    package func make(
        _ name: String, issuer: TLSIdentity?? = nil, _ change: (inout TLSCertificateRequest) -> Void = { _ in }
    ) throws -> TLSIdentity {
        try Self.make(name, in: directory, issuer: issuer ?? authority) { request in
            request.hosts = ["localhost"]
            change(&request)
        }
    }

    /// The path of a new file.
    package func file(_ content: [UInt8]) throws -> String {
        let url = directory.appending(path: UUID().uuidString)
        try Data(content).write(to: url)
        return url.path
    }

    private static func make(
        _ name: String, in directory: URL, issuer: TLSIdentity? = nil,
        _ change: (inout TLSCertificateRequest) -> Void
    ) throws -> TLSIdentity {
        let file = directory.appending(path: UUID().uuidString).path
        let identity = TLSIdentity(certificateFile: file + ".pem", keyFile: file + ".key")
        var request = TLSCertificateRequest(commonName: name)
        request.issuer = issuer
        change(&request)
        try request.make(identity)
        return identity
    }
}
