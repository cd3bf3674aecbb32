import Foundation

@testable import MartletTransport

/// A process of the program `openssl`. Its standard output and standard error are one stream of lines.
final class OpenSSLProgram: Sendable {
    /// The path of the program; nil if there is none.
    static let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/openssl" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    private let process = Process()
    private let input = Pipe()
    private let lines = Events<String>()
    private let exits = Events<Int32>()
    private let text = Guarded("")

    private init(_ words: [String], _ environment: [String: String]) throws {
        let output = Pipe()
        process.executableURL = URL(filePath: Self.path ?? "")
        process.arguments = words
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        process.terminationHandler = { [exits] in exits.send($0.terminationStatus) }
        // The program may end before it has read its input.
        _ = signal(SIGPIPE, SIG_IGN)
        try process.run()
        let reader = output.fileHandleForReading
        Thread.detachNewThread { self.readLines(from: reader) }
    }

    private func readLines(from reader: FileHandle) {
        var rest = Data()
        while case let data = reader.availableData, !data.isEmpty {
            rest += data
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest = rest[(end + 1)...]
                text.withLock { $0 += line + "\n" }
                lines.send(line)
            }
        }
        lines.finish()
    }

    /// Runs the program during `body`.
    ///
    /// - Parameter environment: variables that replace those of this process.
    static func run<Value>(
        _ words: [String], environment: [String: String] = [:], _ body: (OpenSSLProgram) async throws -> Value
    ) async throws -> Value {
        let program = try OpenSSLProgram(words, environment)
        let result: Result<Value, any Error>
        do { result = .success(try await body(program)) } catch { result = .failure(error) }
        program.kill()
        _ = await program.exitCode()
        return try result.get()
    }

    /// Ends the program. It inherits the blocked signals of its thread, so a request to terminate would be ignored.
    func kill() {
        if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    /// Waits for the end of the program and returns its exit code.
    func exitCode() async -> Int32 {
        while await lines.next() != nil {}
        guard let code = await exits.next() else { return -1 }
        exits.send(code)
        return code
    }

    /// Returns the next line that contains `part`; nil if the output ends first.
    func line(containing part: String) async -> String? {
        while let line = await lines.next() { if line.contains(part) { return line } }
        return nil
    }

    /// The lines so far.
    var output: String { text.withLock { $0 } }

    /// Writes to the standard input.
    func write(_ text: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }
}
