import Foundation
import MartletToolSupport

/// A child process of `martlet`, with the lines of its standard error.
final class ChildProcess: Sendable {
    /// The program `martlet` in the folder of the running program.
    static let program = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
        .resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent("martlet")
    /// The duration between the request to terminate and the kill.
    static let gracePeriod = Duration.seconds(2)

    private let process: Subprocess
    /// The lines of standard error.
    let messages: AsyncStream<String>

    /// Starts the program.
    ///
    /// - Parameter environment: Lines `NAME=VALUE` in addition to the variables of this process.
    init(
        _ words: [String], environment: [String] = [], input: FileHandle?, output: FileHandle?
    ) throws {
        let (messages, message) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1024))
        self.messages = messages
        let errors = Pipe()
        guard FileManager.default.isExecutableFile(atPath: Self.program.path) else {
            throw CommandError(.failure, "there is no program \(Self.program.path)")
        }
        process = try Subprocess(
            Self.program.path, words, variables: environment, input: input?.fileDescriptor,
            output: output?.fileDescriptor, errors: errors.fileHandleForWriting.fileDescriptor, isGroupLeader: true)
        try errors.fileHandleForWriting.close()
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
        await process.end().code
    }

    /// The process ID.
    var identifier: Int32 { process.identifier }

    /// Sends a signal to the process.
    func signal(_ number: Int32) {
        process.signal(number)
    }

    /// Requests the process to terminate.
    func terminate() {
        process.signal(SIGTERM)
    }

    /// Ends the process, with a kill if it does not terminate.
    func kill() async {
        terminate()
        let deadline = ContinuousClock.now + Self.gracePeriod
        while process.isRunning, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(20))
            if Task.isCancelled { break }
        }
        process.signal(SIGKILL)
    }
}
