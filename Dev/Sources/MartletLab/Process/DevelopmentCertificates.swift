import Foundation
import MartletToolSupport
import MartletTransport

/// The files of `martlet dev-cert` in a folder.
struct DevelopmentCertificates: Sendable {
    private let folder: URL

    /// Makes the certificates in a new folder below `parent`.
    static func make(in parent: URL) async throws -> DevelopmentCertificates {
        let certificates = DevelopmentCertificates(folder: parent.appendingPathComponent("certificates"))
        let process = try ChildProcess(
            ["dev-cert", "--directory", certificates.folder.path], input: nil, output: nil)
        let code = await process.exitCode()
        guard code == 0 else { throw CommandError(.failure, "'martlet dev-cert' ended with \(code)") }
        return certificates
    }

    /// The certificate of a server on this machine.
    var server: TLSIdentity { TLSIdentity(certificateFile: path("server.pem"), keyFile: path("server.key")) }
    /// The file that clients trust.
    var trustFile: String { path("ca.pem") }
    /// The options of `martlet serve`.
    var serverOptions: [String] { ["--certificate", server.certificateFile, "--key", server.keyFile] }
    /// The options of the client commands of `martlet`.
    var clientOptions: [String] { ["--trust", trustFile] }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
}

/// Runs `body` with a new temporary folder, which is removed afterwards.
func withTemporaryFolder<Result>(_ name: String, _ body: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(name)-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}
