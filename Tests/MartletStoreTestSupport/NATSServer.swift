import Foundation
import MartletToolSupport
import Synchronization

/// A nats-server of its own on a loopback port, which ends with this process or this object.
///
/// Without nats-server the tests that need it are skipped: `@Test(.enabled(if: NATSServer.isInstalled))`.
package final class NATSServer: Sendable {
    private static let program: String? = {
        let found = ["/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        if found == nil {
            print("nats-server is not installed: its tests are skipped. Scripts/install-dependencies nats-server")
        }
        return found
    }()
    package static var isInstalled: Bool { program != nil }

    private struct Failed: Error { var text: String }

    private let folder: String
    private let configuration: Mutex<String>
    private let port = Mutex(-1)
    /// The process and its standard input, whose end stops it.
    private let process = Mutex<(process: Subprocess, input: Pipe)?>(nil)

    /// - Parameter configuration: Lines of the server's configuration.
    package init(_ configuration: String = "") async throws {
        folder = "/tmp/martlet-nats-\(UUID().uuidString.prefix(8))"
        self.configuration = Mutex(configuration)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await start()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// HOST:PORT.
    package var address: String { "127.0.0.1:\(port.withLock { $0 })" }
    package var url: String { "nats://\(address)" }

    /// The path of a new file in the server's folder.
    package func write(_ name: String, _ text: String) throws -> String {
        let path = "\(folder)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// The log of the server.
    package func log() throws -> String { try String(contentsOfFile: "\(folder)/log", encoding: .utf8) }

    /// Starts the server, again on the same port after `stop`.
    ///
    /// - Parameter changed: A different configuration; nil for that of the last start.
    package func start(_ changed: String? = nil) async throws {
        let configuration = configuration.withLock { held in
            held = changed ?? held
            return held
        }
        let (number, input) = (port.withLock { $0 }, Pipe())
        let file = try write("nats.conf", "host: 127.0.0.1\nports_file_dir: \"\(folder)\"\n\(configuration)\n")
        let script = #"exec 3<&0; "$0" "$@" >>"$FOLDER/log" 2>&1 3<&- & cat <&3 >/dev/null; kill -9 $!"#
        let started = try Subprocess(
            "/bin/bash", ["-c", script, Self.program ?? "", "-c", file, "-p", "\(number)"],
            variables: ["FOLDER=\(folder)"], input: input.fileHandleForReading.fileDescriptor)
        try input.fileHandleForReading.close()
        process.withLock { $0 = (started, input) }
        while true {
            try Task.checkCancellation()
            guard started.isRunning else { throw Failed(text: "the server has ended: \(folder)/log") }
            if let found = ports().first {
                port.withLock { $0 = found }
                return
            }
            await Task.yield()
        }
    }

    /// The port in the file that the server writes when it listens.
    private func ports() -> [Int] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".ports") }.compactMap { name in
            let text = (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
            guard let range = text.range(of: "nats://127.0.0.1:") ?? text.range(of: "tls://127.0.0.1:") else {
                return nil
            }
            return Int(text[range.upperBound...].prefix { $0.isNumber })
        }
    }

    /// Ends the server without the consent of its clients.
    package func stop() {
        let running = process.withLock { held in
            defer { held = nil }
            return held
        }
        guard let running else { return }
        try? running.input.fileHandleForWriting.close()
        running.process.waitForEnd()
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where name.hasSuffix(".ports")
        {
            try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }
}
