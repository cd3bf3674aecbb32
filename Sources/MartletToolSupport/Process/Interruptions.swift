import Dispatch
import MartletTransport

/// Signals as events. From the first use on, these signals no longer end the process.
package enum Interruptions {
    /// Returns a stream of received signals.
    package static func stream(of signals: [Int32]) -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(4))
        let queue = DispatchQueue(label: "martlet.signals")
        // A dispatch source may be cancelled from any thread, the only use of the sources here.
        nonisolated(unsafe) let sources = signals.map { number in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
        continuation.onTermination = { _ in
            for source in unsafe sources { source.cancel() }
        }
        return stream
    }

    /// Waits for the interrupt key or a request to terminate, and returns the exit code.
    package static func wait() async -> ExitCode? {
        for await number in stream(of: [SIGINT, SIGTERM]) { return exitCode(for: number) }
        return nil
    }

    /// Returns the exit code that shells report for a process ended by a signal.
    package static func exitCode(for signal: Int32) -> ExitCode {
        switch signal {
        case SIGTERM: .terminated
        case SIGHUP: .hungUp
        default: .interrupted
        }
    }

    /// The duration within which the same signal is ignored. The command `timeout` signals its child twice.
    private static let repetitionInterval = Duration.milliseconds(500)

    private typealias Received = (number: Int32, time: ContinuousClock.Instant)

    private static func isRepetition(_ number: Int32, of first: Received) -> Bool {
        number == first.number && ContinuousClock.now - first.time < repetitionInterval
    }

    /// Runs `body` after the first of the signals. The second one ends the process at once.
    package static func run(after signals: AsyncStream<Int32>, _ body: () async -> Void) async {
        var received: Int32 = 0
        for await number in signals {
            received = number
            break
        }
        let first = (number: received, time: ContinuousClock.now)
        let watch = Task {
            for await number in signals where !isRepetition(number, of: first) {
                exit(exitCode(for: number).rawValue)
            }
        }
        defer { watch.cancel() }
        await body()
    }

    /// Runs `body`. The interrupt key or a request to terminate cancels `body` and determines the exit code; a second
    /// one ends the process at once.
    package static func cancel(_ body: @escaping @Sendable () async throws -> ExitCode) async throws -> ExitCode {
        let work = Task { try await body() }
        let first = Guarded<ExitCode?>(nil)
        let watch = Task {
            var received: Received?
            for await number in stream(of: [SIGINT, SIGTERM]) {
                if let received {
                    if !isRepetition(number, of: received) { exit(exitCode(for: number).rawValue) }
                } else {
                    received = (number, .now)
                    first.withLock { $0 = exitCode(for: number) }
                    work.cancel()
                }
            }
        }
        defer { watch.cancel() }
        do {
            let code = try await work.value
            return first.withLock { $0 } ?? code
        } catch {
            guard let code = first.withLock({ $0 }) else { throw error }
            // An error after the signal is a consequence of the cancellation. An error before it is reported.
            guard let error = error as? CommandError else { return code }
            throw CommandError(code, error.message)
        }
    }
}
