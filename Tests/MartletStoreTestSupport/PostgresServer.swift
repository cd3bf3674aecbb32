import Foundation
import MartletToolSupport
import Synchronization

/// A PostgreSQL of its own in a temporary folder, which ends with this process or this object.
///
/// Without PostgreSQL the tests that need it are skipped: `@Test(.enabled(if: PostgresServer.isInstalled))`.
package final class PostgresServer: Sendable {
    /// The root of the sources.
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let script = sources.appendingPathComponent("Scripts/test-postgres").path
    /// The folder of PostgreSQL's programs; nil if it is not installed.
    private static let programs: String? = {
        guard let text = try? output(of: script, ["--folder"]) else {
            print("PostgreSQL is not installed: its tests are skipped. Scripts/install-dependencies postgresql")
            return nil
        }
        return text.split(separator: "\n").first.map { String($0) }
    }()
    /// Whether tests can start a server.
    package static var isInstalled: Bool { programs != nil }

    private static let shared = Task {
        try await PostgresServer(settings: ["fsync=off", "full_page_writes=off"], isTemporary: true)
    }

    /// The server that tests share which do not stop it. It does not sync.
    package static func common() async throws -> PostgresServer { try await shared.value }

    private struct Failed: Error { var text: String }

    private let folder: String
    private let arguments: [String]
    /// The process and its standard input, whose end stops it.
    private let process = Mutex<(process: Subprocess, input: Pipe)?>(nil)
    private let lastDatabase = Atomic(0)

    /// Starts a server.
    ///
    /// - Parameter isTemporary: Whether the folder ends with the server, which cannot be started again then.
    package init(settings: [String] = [], isTemporary: Bool = false) async throws {
        // The path of a socket has at most 107 bytes.
        folder = "/tmp/martlet-pg-\(UUID().uuidString.prefix(8))"
        arguments = (isTemporary ? ["--temporary"] : []) + [folder] + settings
        try await start()
    }

    deinit {
        end()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The URI of a new, empty database.
    package func database(encoding: String = "UTF8") async throws -> String {
        let name = "test\(lastDatabase.add(1, ordering: .relaxed).newValue)"
        _ = try await sql("CREATE DATABASE \(name) ENCODING '\(encoding)' TEMPLATE template0")
        return uri(of: name)
    }

    /// The URI of a database.
    package func uri(of name: String) -> String {
        "postgres://martlet@/\(name)?host=\(folder)"
    }

    /// The output of a statement, one row a line, by psql. It fails in a task that is cancelled, so that a test that
    /// waits for a result ends at its time limit.
    @discardableResult
    package func sql(_ statement: String, in uri: String? = nil) async throws -> String {
        try Task.checkCancellation()
        let uri = uri ?? self.uri(of: "postgres")
        return try await Self.apart {
            try Self.output(
                of: (Self.programs ?? "") + "/psql", ["-XAtqv", "ON_ERROR_STOP=1", "-d", uri, "-c", statement]
            ).trimmingCharacters(in: .newlines)
        }
    }

    /// Performs what blocks on a thread that is not one of tasks, which the stores and other tests need.
    private static func apart<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: Result { try body() }) }
        }.get()
    }

    /// Starts the server again after `stop`, and waits until it accepts connections.
    package func start() async throws {
        let input = Pipe()
        let started = try Subprocess(
            Self.script, arguments, input: input.fileHandleForReading.fileDescriptor, output: STDERR_FILENO,
            errors: STDERR_FILENO)
        try input.fileHandleForReading.close()
        process.withLock { $0 = (started, input) }
        while !Task.isCancelled, (try? await sql("SELECT 1")) != "1" {
            guard started.isRunning else { throw Failed(text: "the server has ended: \(folder)/server.log") }
            await Task.yield()
        }
    }

    /// Ends the server, without its clients' consent.
    package func stop() async throws {
        try await Self.apart { self.end() }
    }

    private func end() {
        let running = process.withLock { held in
            defer { held = nil }
            return held
        }
        guard let running else { return }
        try? running.input.fileHandleForWriting.close()
        running.process.waitForEnd()
    }

    private static func output(of program: String, _ arguments: [String]) throws -> String {
        let (output, errors) = (Pipe(), Pipe())
        let process = try Subprocess(
            program, arguments, output: output.fileHandleForWriting.fileDescriptor,
            errors: errors.fileHandleForWriting.fileDescriptor)
        try output.fileHandleForWriting.close()
        try errors.fileHandleForWriting.close()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        guard process.waitForEnd() == .exit(0) else { throw Failed(text: text) }
        return String(decoding: data, as: UTF8.self)
    }
}
