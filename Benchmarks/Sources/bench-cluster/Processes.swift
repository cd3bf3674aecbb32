import DatabaseRig
import Foundation
import Martlet

/// What carries the datagrams between the relays.
enum Bus: String {
    case nats = "NATS"
    case notify = "NOTIFY"
}

/// A server of NATS on an unusual port.
final class NATSServer {
    static let uri = "nats://127.0.0.1:24229"
    private let process = Process()

    init() throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "PATH=/usr/sbin:/usr/bin:/usr/local/bin", "nats-server", "--addr", "127.0.0.1", "--port", "24229",
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    func stop() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// A relay of a database that others share.
final class RelayProcess {
    let port: Int
    let startedAt: ContinuousClock.Instant
    private let process = Process()

    /// Starts a relay, which listens.
    init(_ database: String, _ bus: Bus = .notify) throws {
        let output = Pipe()
        process.executableURL = Server.repository.appending(path: ".build/release/martlet")
        process.arguments = [
            "serve", "--allow-all", "--quiet", "--listen", "127.0.0.1:0", "--store", database, "--shared", "--bus",
            bus == .nats ? NATSServer.uri : "postgres", "--name", UUID().uuidString, "--max-connections-per-address",
            "0",
        ]
        process.standardOutput = output
        startedAt = .now
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Failed(text: "the relay does not start")
        }
        self.port = port
    }

    func stop() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// A client that is started.
    func client(_ account: String) async throws -> Client {
        var configuration = Client.Configuration()
        configuration.watchesPath = false
        configuration.recordingByteCount = 0
        let client = try Client(
            to: "martlet://127.0.0.1:\(port)", as: .anonymous(account), configuration: configuration)
        try await client.start()
        return client
    }

    /// The processor time of all threads so far, in seconds.
    var processorSeconds: Double {
        var (clock, time) = (clockid_t(), timespec())
        guard unsafe clock_getcpuclockid(process.processIdentifier, &clock) == 0,
            unsafe clock_gettime(clock, &time) == 0
        else { return .nan }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The resident memory, in MB.
    var residentMegabytes: Double {
        let text = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(separator: " ").compactMap { Double($0) }.first.map { $0 * 1024 / 1e6 } ?? .nan
    }
}

extension [RelayProcess] {
    var processorSeconds: Double { reduce(0) { $0 + $1.processorSeconds } }
}
