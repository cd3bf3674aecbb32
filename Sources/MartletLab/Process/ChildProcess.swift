import Foundation
import MartletToolSupport

/// A process of `martlet`, whose reports are read and which never outlives its owner's call.
final class ChildProcess: Sendable {
    /// The program `martlet`, in the folder of the program that runs now.
    static let program = URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
        .resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent("martlet")
    /// How long a process may take to end before it is killed.
    static let gracePeriod = Duration.seconds(2)

    private let process = Process()
    private let exits: AsyncStream<Int32>
    /// Lines of its standard error, as they come.
    let messages: AsyncStream<String>

    /// Starts the program with these arguments.
    ///
    /// - Parameter environment: variables on top of those of this process.
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
            while let data = try? reader.read(upToCount: 4096), !data.isEmpty {
                for line in splitter.split(data) {
                    message.yield(String(decoding: line.dropLast(), as: UTF8.self))
                }
            }
            message.finish()
        }
    }

    /// Waits for its end and returns the exit code; 128 and more is a signal.
    func exitCode() async -> Int32 {
        for await code in exits { return code }
        return -1
    }

    /// The process ID.
    var identifier: Int32 { process.processIdentifier }

    /// Sends it a signal.
    func signal(_ number: Int32) {
        if process.isRunning { _ = Foundation.kill(process.processIdentifier, number) }
    }

    /// Asks it to end.
    func terminate() {
        if process.isRunning { process.terminate() }
    }

    /// Ends it, by force if it does not end by itself.
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
