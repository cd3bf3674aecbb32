import Foundation
import MartletToolSupport

@testable import MartletTransport

/// A process of the program `openssl`. Its standard output and standard error are one stream of lines.
final class OpenSSLProgram: Sendable {
    /// The path of the program; nil if there is none.
    static let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/openssl" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    private let process: Subprocess
    private let input = Pipe()
    private let lines = Events<String>()
    private let text = Guarded("")

    private init(_ words: [String], _ environment: [String: String]) throws {
        let output = Pipe()
        // The program may end before it has read its input.
        _ = signal(SIGPIPE, SIG_IGN)
        let writer = output.fileHandleForWriting
        process = try Subprocess(
            Self.path ?? "", words, variables: environment.map { "\($0)=\($1)" },
            input: input.fileHandleForReading.fileDescriptor, output: writer.fileDescriptor,
            errors: writer.fileDescriptor)
        try writer.close()
        try input.fileHandleForReading.close()
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

    /// Ends the program.
    func kill() { process.signal(SIGKILL) }

    /// Waits for the end of the program and returns its exit code.
    func exitCode() async -> Int32 {
        while await lines.next() != nil {}
        return await process.end().code
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
