import Foundation
import MartletToolSupport

/// A relay in a process of its own, on a port of this machine.
struct RelayProcess: Sendable {
    let port: UInt16
    private let process: ChildProcess

    var identifier: Int32 { process.identifier }
    /// Where clients find it.
    var endpoint: String { "martlet://127.0.0.1:\(port)" }

    /// Starts a relay and returns when it listens.
    ///
    /// - Parameters:
    ///   - port: 0 for any that is free.
    ///   - words: further options of `martlet serve`.
    ///   - environment: what it finds in its environment besides what this process has.
    ///   - onLine: sees each line of its log, on a thread of its own.
    init(
        port: UInt16, _ words: [String] = [], environment: [String: String] = [:],
        onLine: @escaping @Sendable (LogLine) -> Void = { _ in }
    ) async throws {
        let output = Pipe()
        process = try ChildProcess(
            ["serve", "--listen", "127.0.0.1:\(port)", "--allow-all", "--json"] + words,
            environment: environment, input: nil, output: output.fileHandleForWriting)
        try? output.fileHandleForWriting.close()
        let (ports, announcement) = AsyncStream.makeStream(of: UInt16.self)
        let reader = output.fileHandleForReading
        Thread.detachNewThread {
            var splitter = LineSplitter(maxPieceByteCount: 64 << 10)
            // Not the handle's own method, which waits until it has all that it may have.
            while let bytes = Descriptors.read(reader.fileDescriptor, atMost: 64 << 10), !bytes.isEmpty {
                for line in splitter.split(bytes).compactMap(LogLine.init) {
                    if let port = line.port { announcement.yield(port) }
                    onLine(line)
                }
            }
            announcement.finish()
        }
        var announced = ports.makeAsyncIterator()
        guard let port = await announced.next() else {
            await process.kill()
            throw CommandError(.failure, "the relay does not listen on port \(port)")
        }
        self.port = port
    }

    /// Kills it, without a chance to say anything.
    func kill() async {
        process.signal(SIGKILL)
        _ = await process.exitCode()
    }

    /// Does something while the relay runs, and kills it when that fails.
    func guarding<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch {
            await kill()
            throw error
        }
    }

    /// A line of `martlet serve --json`.
    struct LogLine: Decodable, Sendable {
        /// In milliseconds since 1970.
        var time: Int64
        var event: String
        /// With `listening`.
        var port: UInt16?

        init?(_ bytes: some Sequence<UInt8>) {
            guard let line = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
            self = line
        }
    }
}
