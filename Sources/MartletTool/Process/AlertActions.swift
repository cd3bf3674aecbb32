import MartletAdmin
import MartletToolSupport
import MartletTransport
import MartletWebhook

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The actions on changes of alerts: a program, and a webhook. Each takes the changes in order, one at a time.
final class AlertActions: Sendable {
    typealias Action = @Sendable (AlertChange) async throws -> Void

    /// The maximum number of changes that wait for an action. An action misses further ones.
    static let maxWaitingCount = 256

    private struct Waiting: Error, CustomStringConvertible {
        var description: String { "\(AlertActions.maxWaitingCount) changes wait" }
    }

    private let queues: [AsyncStream<AlertChange>.Continuation]
    private let tasks: [Task<Void, Never>]
    private let onFailure: @Sendable (AlertChange, String) -> Void

    /// - Parameter onFailure: Receives the changes whose action has failed, with the reason.
    init(_ actions: [Action], onFailure: @escaping @Sendable (AlertChange, String) -> Void) {
        self.onFailure = onFailure
        let streams = actions.map { _ in
            AsyncStream.makeStream(of: AlertChange.self, bufferingPolicy: .bufferingOldest(Self.maxWaitingCount))
        }
        queues = streams.map(\.continuation)
        tasks = zip(actions, streams).map { action, stream in
            Task {
                for await change in stream.stream {
                    do { try await action(change) } catch is CancellationError { return } catch {
                        onFailure(change, "\(error)")
                    }
                }
            }
        }
    }

    deinit { for task in tasks { task.cancel() } }

    /// Ends the actions in progress, and returns when they have ended.
    func finish() async {
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    /// Begins the actions on a change.
    func perform(_ change: AlertChange) {
        for queue in queues {
            if case .dropped = queue.yield(change) { onFailure(change, "\(Waiting())") }
        }
    }
}

/// A program that is started for each change of an alert. It has an empty input, writes to standard error, and finds
/// the change in its environment.
struct AlertProgram: Sendable {
    /// The maximum duration of the program. It is then killed, with the processes of its group.
    static let timeout = Duration.seconds(30)

    /// The end of a program.
    enum Failure: Error, Equatable, CustomStringConvertible {
        case notStarted(String)
        case exit(code: Int32)
        case signal(Int32)
        case timeout

        var description: String {
            switch self {
            case .notStarted(let text): "the program does not start: \(text)"
            case .exit(let code): "the program has ended with \(code)"
            case .signal(let number): "the program has ended by signal \(number)"
            case .timeout: "the program was killed after \(AlertProgram.timeout)"
            }
        }
    }

    private let path: String
    private let sleep: @Sendable (Duration) async throws -> Void

    init(
        _ path: String,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.path = path
        self.sleep = sleep
    }

    /// Checks that a program can be started.
    static func check(_ path: String) throws(CommandError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0, unsafe access(path, X_OK) == 0 else {
            throw .system(.noInput, "cannot start the program of alerts \(path)")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CommandError(.noInput, "cannot start the program of alerts \(path): it is not a file")
        }
    }

    /// Runs the program to its end. A cancellation kills it.
    ///
    /// - Throws: `Failure`; `CancellationError`.
    func run(_ change: AlertChange) async throws {
        let variables = [
            "MARTLET_ALERT=\(change.name)", "MARTLET_ALERT_STATE=\(change.isRaised ? "raised" : "ended")",
            "MARTLET_ALERT_VALUE=\(change.value.map { "\($0)" } ?? "")",
        ]
        let process: Subprocess
        do throws(Subprocess.NotStarted) {
            process = try Subprocess(
                path, variables: variables, output: STDERR_FILENO, errors: STDERR_FILENO, isGroupLeader: true)
        } catch { throw Failure.notStarted(error.description) }
        let end: Subprocess.End? = await withTaskGroup(of: Subprocess.End?.self) { [sleep] group in
            group.addTask { await process.end() }
            group.addTask {
                try? await sleep(Self.timeout)
                return nil
            }
            defer { group.cancelAll() }
            guard case let end?? = await group.next() else {
                process.signal(SIGKILL)
                return nil
            }
            return end
        }
        try Task.checkCancellation()
        switch end {
        case .exit(0): return
        case .exit(let code): throw Failure.exit(code: code)
        case .signal(let number): throw Failure.signal(number)
        case nil: throw Failure.timeout
        }
    }
}
