import Foundation
import MartletToolSupport

/// A child process of `martlet`, with the lines of its standard error.
final class ChildProcess: Sendable {
    /// The program `martlet` in the folder of the running program.
    static let program = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
        .resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent("martlet")
    /// The duration between the request to terminate and the kill.
    static let gracePeriod = Duration.seconds(2)

    private let process = Process()
    private let exits: AsyncStream<Int32>
    /// The lines of standard error.
    let messages: AsyncStream<String>

    /// Starts the program.
    ///
    /// - Parameter environment: Variables in addition to those of this process.
    init(
        _ words: [String], environment: [String: String] = [:], input: FileHandle?, output: FileHandle?
    ) throws {
        let (exits, exit) = AsyncStream.makeStream(of: Int32.self)
        let (messages, message) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1024))
        self.exits = exits
        self.messages = messages
        let errors = Pipe()
        process.executableURL = Self.program
        process.arguments = words
        if !environment.isEmpty {
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        }
        process.standardInput = input ?? FileHandle.nullDevice
        process.standardOutput = output ?? FileHandle.nullDevice
        process.standardError = errors
        process.terminationHandler = { process in
            exit.yield(process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus)
            exit.finish()
        }
        guard FileManager.default.isExecutableFile(atPath: Self.program.path) else {
            throw CommandError(.failure, "there is no program \(Self.program.path)")
        }
        try process.run()
        let reader = errors.fileHandleForReading
        Thread.detachNewThread {
            var splitter = LineSplitter(maxPieceByteCount: 64 << 10)
            // A read of a number of bytes would wait for all of them.
            while case let data = reader.availableData, !data.isEmpty {
                for line in splitter.split(data) {
                    message.yield(String(decoding: line.dropLast(), as: UTF8.self))
                }
            }
            message.finish()
        }
    }

    /// Waits for the end of the process and returns its exit code, 128 plus the signal if a signal ended it.
    func exitCode() async -> Int32 {
        for await code in exits { return code }
        return -1
    }

    /// The process ID.
    var identifier: Int32 { process.processIdentifier }

    /// Sends a signal to the process.
    func signal(_ number: Int32) {
        if process.isRunning { _ = Foundation.kill(process.processIdentifier, number) }
    }

    /// Requests the process to terminate.
    func terminate() {
        if process.isRunning { process.terminate() }
    }

    /// Ends the process, with a kill if it does not terminate.
    func kill() async {
        terminate()
        let deadline = ContinuousClock.now + Self.gracePeriod
        while process.isRunning, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(20))
            if Task.isCancelled { break }
        }
        if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
    }
}
