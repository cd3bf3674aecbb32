import Foundation
import MartletToolSupport

/// A relay in a child process, on a port of this machine.
struct RelayProcess: Sendable {
    let port: UInt16
    private let process: ChildProcess
    private let usesTLS: Bool

    var identifier: Int32 { process.identifier }
    /// The endpoint for clients.
    var endpoint: String { "martlet\(usesTLS ? "s" : "")://127.0.0.1:\(port)" }

    /// Starts a relay and returns when it listens.
    ///
    /// - Parameters:
    ///   - port: The port; 0 for any free one.
    ///   - certificates: The certificates if the relay uses TLS.
    ///   - options: Further options of `martlet serve`.
    ///   - environment: Lines `NAME=VALUE` in addition to the variables of this process.
    ///   - onLine: A closure that receives each line of the log on a separate thread.
    init(
        port: UInt16, _ certificates: DevelopmentCertificates? = nil, options: [String] = [],
        environment: [String] = [],
        onLine: @escaping @Sendable (LogLine) -> Void = { _ in }
    ) async throws {
        let output = Pipe()
        usesTLS = certificates != nil
        process = try ChildProcess(
            ["serve", "--listen", "127.0.0.1:\(port)", "--allow-all", "--json", "--max-connections-per-address", "0"]
                + (certificates?.serverOptions ?? []) + options,
            environment: environment, input: nil, output: output.fileHandleForWriting)
        try? output.fileHandleForWriting.close()
        let (ports, announcement) = AsyncStream.makeStream(of: UInt16.self)
        let reader = output.fileHandleForReading
        Thread.detachNewThread {
            var splitter = LineSplitter(maxPieceByteCount: 64 << 10)
            // The method of the file handle would wait until the requested number of bytes has arrived.
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

    /// Kills the process.
    func kill() async {
        process.signal(SIGKILL)
        _ = await process.exitCode()
    }

    /// Runs `body` while the relay runs. If `body` throws, the relay is killed.
    func guarding<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch {
            await kill()
            throw error
        }
    }

    /// A line of `martlet serve --json`.
    struct LogLine: Decodable, Sendable {
        /// The time in milliseconds since 1970.
        var time: Int64
        var event: String
        /// The port of the event `listening`.
        var port: UInt16?

        init?(_ bytes: some Sequence<UInt8>) {
            guard let line = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
            self = line
        }
    }
}
