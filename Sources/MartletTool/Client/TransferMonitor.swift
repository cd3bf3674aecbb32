import Foundation
import Martlet
import MartletToolSupport
import MartletTransport

/// How the progress of lines is shown.
enum ProgressStyle: String, CaseIterable, Sendable {
    /// On a terminal, and nowhere else.
    case auto
    /// As lines of JSON on standard error.
    case json
    /// Not at all.
    case none

    /// The option that chooses.
    static let option = Option<ProgressStyle>.choice(
        "progress", fallback: .auto, help: "how progress is shown on standard error")
}

/// Watches a command that carries lines: shows how far it is, and ends it when there is no connection for too long.
///
/// The command adds to its ``Counts``; ``watch(_:timeout:)`` runs beside it until it is cancelled or throws.
final class TransferMonitor: Sendable {
    /// How often there is something new to see.
    /// What the command itself counts.
    struct Counts: Sendable {
        var sent = 0
        var accepted = 0
        var failed = 0
        var received = 0
        var missed: UInt64 = 0
        var replacedLogs: UInt64 = 0
        /// The bytes of accepted lines.
        var acceptedByteCount = 0
    }

    private let counts = Guarded(Counts())
    private let style: ProgressStyle
    private let totalByteCount: Int?
    private let totalCount: Int?
    private let block = LiveLine()
    private let begin = ContinuousClock.now
    private let meter = Guarded(ProgressMeter(of: "lines"))

    /// A monitor of something whose size in bytes or in lines is known, or neither.
    init(_ style: ProgressStyle, totalByteCount: Int? = nil, totalCount: Int? = nil) {
        let isVisible = Terminal.isTerminal(STDERR_FILENO) && Terminal.isCapable && !Terminal.isTerminal(STDIN_FILENO)
        self.style = style == .auto && !isVisible ? .none : style
        self.totalByteCount = totalByteCount
        self.totalCount = totalCount
    }

    /// The command has come a step further.
    func count(_ step: (inout Counts) -> Void) { counts.withLock { step(&$0) } }

    /// Shows progress, says when there is no connection, and throws when the client gave up or was without a connection
    /// for longer than `timeout`.
    func watch(_ client: Client, timeout: Duration?) async throws {
        try await ConnectionWatch.run(client, timeout: timeout, say: report) { await show(client) }
    }

    /// Lines of JSON say of the connection what there is to say.
    private func report(_ text: String) {
        if style == .json { return }
        block.clear()
        ConnectionWatch.report(text)
    }

    /// Removes what is shown, and says what there is to say at the end.
    func finish(_ client: Client) async -> TransferReport {
        block.clear()
        var report = await report(client)
        report.event = .summary
        if style == .json { Output.report(report.json.text) }
        return report
    }

    private func show(_ client: Client) async {
        switch style {
        case .none: break
        case .json: Output.report(await report(client).json.text)
        case .auto:
            let counts = counts.withLock { $0 }
            let status = client.currentStatus
            let count =
                totalCount == nil && totalByteCount == nil ? max(counts.accepted, counts.received) : done(counts)
            let note = status.isOnline ? "" : SafeText.line(status.explanation)
            let columns = Terminal.size(of: STDERR_FILENO).columns - 1
            let line = meter.withLock { meter in
                meter.update(count: count, share: share(counts), now: begin.duration(to: .now))
                return meter.line(columns: columns, note: note)
            }
            block.show(line)
        }
    }

    private func done(_ counts: Counts) -> Int { totalCount == nil ? counts.accepted : counts.received }

    private func share(_ counts: Counts) -> Double? {
        if let totalByteCount { return Double(counts.acceptedByteCount) / Double(max(totalByteCount, 1)) }
        return totalCount.map { Double(counts.received) / Double(max($0, 1)) }
    }

    private func report(_ client: Client) async -> TransferReport {
        let counts = counts.withLock { $0 }
        let statistics = await client.statistics
        let status = client.currentStatus
        var report = TransferReport()
        report.sent = counts.sent
        report.accepted = counts.accepted
        report.failed = counts.failed
        report.received = counts.received
        report.missed = counts.missed
        report.replacedLogs = counts.replacedLogs
        report.reconnects = statistics.reconnects
        report.resumes = statistics.resumes
        report.retransmissions = statistics.retransmissions
        report.rttP50 = statistics.roundTripP50.map { Quantity.seconds($0) * 1000 }
        report.rttP99 = statistics.roundTripP99.map { Quantity.seconds($0) * 1000 }
        report.bytesSent = statistics.bytesSent
        report.bytesReceived = statistics.bytesReceived
        report.seconds = Quantity.seconds(begin.duration(to: .now))
        report.online = status.isOnline
        report.status = status.explanation
        return report
    }
}

/// One line on standard error that is written over again and again.
final class LiveLine: Sendable {
    private let isShown = Guarded(false)

    /// Shows the line in place of the last one.
    func show(_ line: String) {
        isShown.withLock {
            try? Output.write(Array("\r\(line)\u{1B}[K".utf8), to: STDERR_FILENO)
            $0 = true
        }
    }

    /// Removes the line.
    func clear() {
        isShown.withLock {
            if $0 { try? Output.write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO) }
            $0 = false
        }
    }
}
