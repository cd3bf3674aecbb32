import Martlet
import MartletSQLite
import MartletToolSupport
import Synchronization

/// The reports about messages of earlier commands with the same outbox, on standard error (C-105).
final class EarlierMessages: Sendable {
    /// The maximum number of failures that are reported in a line of their own.
    private static let maxLineCount = 10

    private let path: String
    private let failureCount = Atomic(0)

    init(path: String) {
        self.path = path
    }

    /// Reports that the device has another ID, or that a message of an earlier command has failed.
    func note(_ event: Client.LogEvent) {
        if event.name == "device.replaced" { Output.report(SafeText.line("martlet: \(path): \(event.message)")) }
        guard event.name == "message.failed", event.concernsEarlierClient else { return }
        guard failureCount.wrappingAdd(1, ordering: .relaxed).newValue <= Self.maxLineCount else { return }
        Output.report(
            SafeText.line("martlet: a message of an earlier command to \(event.room ?? ""): \(event.message)"))
    }

    /// Reports the failed messages that the outbox has had before.
    nonisolated(nonsending) static func reportFailures(in outbox: SQLiteOutbox?) async {
        guard let outbox, let state = try? await outbox.open() else { return }
        let count = state.outcomes.count { if case .failed = $0.result { true } else { false } }
        guard count > 0 else { return }
        Output.report(
            SafeText.line(
                "martlet: \(outbox.path) has failed messages of earlier commands: \(count); "
                    + "'martlet outbox' lists and discards them"))
    }

    /// The exit code of a command that ends with `code`: failure if a message of an earlier command has failed.
    func exitCode(_ code: ExitCode) -> ExitCode {
        code == .success && failureCount.load(ordering: .relaxed) > 0 ? .failure : code
    }
}
