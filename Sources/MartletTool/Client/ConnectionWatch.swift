import Martlet
import MartletToolSupport

/// Decides what a command says of its connection, and when it ends for want of one; time comes in from outside.
///
/// | state | what happens | what comes of it |
/// |---|---|---|
/// | offline | `patience` passes | it is said once, with the reason |
/// | offline, said | online | it is said |
/// | offline | the timeout passes | the command ends |
/// | any | the client gave up | the command ends |
struct ConnectionWatch {
    /// What is to be done.
    enum Answer: Equatable {
        case nothing
        case say(String)
        case end(CommandError)
    }

    /// How long there may be no connection before that is said.
    static let patience = Duration.seconds(1)
    /// How often the status is looked at.
    static let interval = Duration.milliseconds(200)

    private let timeout: Duration?
    private var offlineSince: Duration?
    private var hasSaidOffline = false

    /// A watch that begins at time zero.
    init(timeout: Duration?) {
        self.timeout = timeout
        offlineSince = .zero
    }

    /// The client stands so at `now`.
    mutating func check(_ phase: Client.Status.Phase, explanation: String, now: Duration) -> Answer {
        if case .stopped(let reason?) = phase { return .end(CommandError(givingUp: reason, explanation: explanation)) }
        if phase == .online {
            defer { (offlineSince, hasSaidOffline) = (nil, false) }
            return hasSaidOffline ? .say("connected") : .nothing
        }
        let begin = offlineSince ?? now
        offlineSince = begin
        let reason = SafeText.line(explanation)
        if let timeout, now - begin > timeout {
            return .end(CommandError(.unavailable, "no connection for \(Quantity.text(timeout)): \(reason)"))
        }
        guard !hasSaidOffline, now - begin >= Self.patience else { return .nothing }
        hasSaidOffline = true
        return .say("no connection: \(reason); trying again and again")
    }

    /// Watches a client until it gives up, is without a connection for longer than `timeout`, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - say: told what there is to say.
    ///   - look: called as often as the status is looked at.
    static func run(
        _ client: Client, timeout: Duration?, say: @Sendable (String) -> Void,
        look: @Sendable () async -> Void = {}
    ) async throws {
        let begin = ContinuousClock.now
        var watch = ConnectionWatch(timeout: timeout)
        while true {
            let status = client.currentStatus
            switch watch.check(status.phase, explanation: status.explanation, now: begin.duration(to: .now)) {
            case .nothing: break
            case .say(let text): say(text)
            case .end(let error): throw error
            }
            await look()
            try await Task.sleep(for: interval)
        }
    }

    /// Says something on standard error.
    static let report: @Sendable (String) -> Void = { Output.report("martlet: \($0)") }
}
