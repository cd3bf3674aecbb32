import Martlet
import MartletToolSupport

/// The machine that determines the messages of a command about its connection, and the end of the command without one.
/// The caller supplies the time.
///
/// | state | event | result |
/// |---|---|---|
/// | offline | `reportDelay` has passed | a message with the reason, once |
/// | offline, reported | online | a message |
/// | offline | the timeout has passed | the command ends |
/// | any | the client has stopped | the command ends |
struct ConnectionWatch {
    /// The result of a check.
    enum Answer: Equatable {
        case nothing
        case report(String)
        case end(CommandError)
    }

    /// The duration without a connection after which it is reported.
    static let reportDelay = Duration.seconds(1)
    /// The interval between two checks of the status.
    static let interval = Duration.milliseconds(200)

    private let timeout: Duration?
    private var offlineSince: Duration?
    private var hasReportedOffline = false

    /// Creates a watch that begins at time zero.
    init(timeout: Duration?) {
        self.timeout = timeout
        offlineSince = .zero
    }

    /// Checks the phase of the client at `now`.
    mutating func check(_ phase: Client.Status.Phase, explanation: String, now: Duration) -> Answer {
        if case .stopped(let reason?) = phase { return .end(CommandError(givingUp: reason, explanation: explanation)) }
        if phase == .online {
            defer { (offlineSince, hasReportedOffline) = (nil, false) }
            return hasReportedOffline ? .report("connected") : .nothing
        }
        let begin = offlineSince ?? now
        offlineSince = begin
        let reason = SafeText.line(explanation)
        if let timeout, now - begin > timeout {
            return .end(CommandError(.unavailable, "no connection for \(Quantity.text(timeout)): \(reason)"))
        }
        guard !hasReportedOffline, now - begin >= Self.reportDelay else { return .nothing }
        hasReportedOffline = true
        return .report("no connection: \(reason); retrying")
    }

    /// Observes a client until it stops, has no connection for longer than `timeout`, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - report: A closure that receives the messages.
    ///   - onCheck: A closure that is called at each check.
    static func run(
        _ client: Client, timeout: Duration?, report: @Sendable (String) -> Void,
        onCheck: @Sendable () async -> Void = {}
    ) async throws {
        let begin = ContinuousClock.now
        var watch = ConnectionWatch(timeout: timeout)
        while true {
            let status = client.currentStatus
            switch watch.check(status.phase, explanation: status.explanation, now: begin.duration(to: .now)) {
            case .nothing: break
            case .report(let text): report(text)
            case .end(let error): throw error
            }
            await onCheck()
            try await Task.sleep(for: interval)
        }
    }

    /// A closure that writes a message to standard error.
    static let print: @Sendable (String) -> Void = { Output.report("martlet: \(SafeText.line($0))") }
}
