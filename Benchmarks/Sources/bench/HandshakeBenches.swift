import BenchHarness
import Foundation
import MartletRelay

/// Full and resumed TLS handshakes, one after another, beside the server and the client of OpenSSL.
enum HandshakeBenches {
    static func cases(_ options: Options) -> [Case] {
        [(name: "full", isResumed: false), (name: "resumed", isResumed: true)].map { kind in
            Case(
                "handshakes/\(kind.name)", per: "handshake",
                [
                    subject("martlet", .handshakeRelay, kind.isResumed, options),
                    subject("openssl s_server", .openSSL, kind.isResumed, options),
                    Subject("openssl s_time") { try timeTrial(kind.isResumed, options) },
                ])
        }
    }

    private static func subject(
        _ name: String, _ server: ServerProcess.Kind, _ isResumed: Bool, _ options: Options
    ) -> Subject {
        Subject(name) {
            try LoadProcess.trial(
                server, options,
                [
                    options.baselines + "/load", "handshakes", "--resume", isResumed ? "1" : "0", "--seconds",
                    "\(options.seconds)",
                ])
        }
    }

    /// A run of `openssl s_time` against `openssl s_server`. Its resumed sessions are of TLS 1.2, because it discards
    /// the tickets of TLS 1.3.
    private static func timeTrial(_ isResumed: Bool, _ options: Options) throws -> Sample {
        let server = try ServerProcess(.openSSL, options)
        defer { server.stop() }
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [
                "taskset", "-c", "1", "openssl", "s_time", "-connect", "127.0.0.1:\(server.port)", "-time",
                "\(max(Int(options.seconds), 1))",
            ] + (isResumed ? ["-reuse", "-tls1_2"] : ["-new", "-tls1_3"])
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        // "1234 connections in 4 real seconds, 0 bytes read per connection"
        let line = output.split(separator: "\n").first { $0.contains(" real seconds") }
        let numbers = (line ?? "").split(separator: " ").compactMap { Double($0) }
        guard numbers.count >= 2, numbers[1] > 0 else { throw Options.Failure(description: "openssl s_time fails") }
        return ["perSecond": numbers[0] / numbers[1]]
    }
}

/// A relay in a process of its own, which accepts any number of connections in a second.
enum HandshakeRelay {
    static func run(_ options: Options) async throws {
        var configuration = try Relay.Configuration(port: UInt16(options.port ?? 0))
        let folder = options.certificates
        configuration.tls = TLSServerOptions(
            identity: TLSIdentity(certificateFile: folder + "/server.pem", keyFile: folder + "/server.key"))
        configuration.maxAcceptsPerSecond = nil
        configuration.limits.maxConnections = .max
        configuration.limits.maxHandshakes = .max
        configuration.limits.maxTotalHandshakes = .max
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        try await relay.run()
    }
}
