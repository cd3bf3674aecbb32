import Dispatch
import MartletTransport

/// Signals as events. From the first use on, these signals no longer end the process.
package enum Interruptions {
    /// A received signal. Its task may run later.
    package struct Signal: Sendable {
        package let number: Int32
        let time: ContinuousClock.Instant

        package init(_ number: Int32, at time: ContinuousClock.Instant = .now) {
            (self.number, self.time) = (number, time)
        }

        /// Whether a signal repeats this one.
        fileprivate func isRepeated(by other: Signal) -> Bool {
            number == other.number && other.time - time < repetitionInterval
        }
    }

    /// The duration within which the same signal is ignored. The command `timeout` signals its child twice.
    static let repetitionInterval = Duration.milliseconds(500)

    /// Returns a stream of received signals.
    package static func stream(of signals: [Int32]) -> AsyncStream<Signal> {
        let (stream, continuation) = AsyncStream.makeStream(of: Signal.self, bufferingPolicy: .bufferingNewest(4))
        let queue = DispatchQueue(label: "martlet.signals")
        // A dispatch source may be cancelled from any thread, the only use of the sources here.
        nonisolated(unsafe) let sources = signals.map { number in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { continuation.yield(Signal(number)) }
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
        for await signal in stream(of: [SIGINT, SIGTERM]) { return exitCode(for: signal.number) }
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

    /// Runs `body` after the first of the signals. The second one ends the process at once.
    package static func run(after signals: AsyncStream<Signal>, _ body: () async -> Void) async {
        var received: Signal?
        for await signal in signals {
            received = signal
            break
        }
        let first = received
        let watch = Task {
            for await signal in signals where first?.isRepeated(by: signal) != true {
                exit(exitCode(for: signal.number).rawValue)
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
            var received: Signal?
            for await signal in stream(of: [SIGINT, SIGTERM]) {
                if let received {
                    if !received.isRepeated(by: signal) { exit(exitCode(for: signal.number).rawValue) }
                } else {
                    received = signal
                    first.withLock { $0 = exitCode(for: signal.number) }
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
