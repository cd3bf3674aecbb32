import Martlet
import MartletToolSupport
import MartletTransport

/// The style of progress reports.
enum ProgressStyle: String, CaseIterable, Sendable {
    /// Text if standard error is a terminal, otherwise none.
    case auto
    /// Lines of JSON on standard error.
    case json
    /// No reports.
    case none

    /// The option of the style.
    static let option = Option<ProgressStyle>.choice(
        "progress", fallback: .auto, help: "style of the progress on standard error")
}

/// A monitor of a command that transfers lines: it reports the progress, and ends the command after too long without a
/// connection.
///
/// The command updates its ``Counts``. The method ``watch(_:timeout:)`` runs concurrently until it is cancelled or
/// throws.
final class TransferMonitor: Sendable {
    /// The counts of the command.
    struct Counts: Sendable {
        var sent = 0
        var accepted = 0
        var failed = 0
        var received = 0
        var missed: UInt64 = 0
        var replacedLogs: UInt64 = 0
        /// The number of bytes of accepted lines.
        var acceptedByteCount = 0
        /// The reason for which the relay has not served the room, and the lines that it had accepted then.
        fileprivate var delay: (reason: String, accepted: Int)?
        /// The reason, until a line is accepted.
        fileprivate var delayReason: String? { delay?.accepted == accepted ? delay?.reason : nil }
    }

    private let counts = Guarded(Counts())
    private let style: ProgressStyle
    private let totalByteCount: Int?
    private let totalCount: Int?
    private let block = LiveLine()
    private let begin = ContinuousClock.now
    private let meter = Guarded(ProgressMeter(of: "lines"))

    /// Creates a monitor for a transfer whose total size in bytes or in lines may be known.
    init(_ style: ProgressStyle, totalByteCount: Int? = nil, totalCount: Int? = nil) {
        let isVisible = Terminal.isTerminal(STDERR_FILENO) && Terminal.isCapable && !Terminal.isTerminal(STDIN_FILENO)
        self.style = style == .auto && !isVisible ? .none : style
        self.totalByteCount = totalByteCount
        self.totalCount = totalCount
    }

    /// Updates the counts of the command.
    func count(_ step: (inout Counts) -> Void) { counts.withLock { step(&$0) } }

    /// Reports the progress and the lack of a connection.
    ///
    /// - Throws: An error if the client has stopped, or had no connection for longer than `timeout`.
    func watch(_ client: Client, timeout: Duration?) async throws {
        try await ConnectionWatch.run(client, timeout: timeout, report: report) { await show(client) }
    }

    /// Reports that the relay currently cannot serve the room, once until a line is accepted.
    @Sendable func note(_ event: Client.LogEvent) {
        guard event.name == "room.delayed" else { return }
        let isNew = counts.withLock { counts in
            defer { counts.delay = (event.message, counts.accepted) }
            return counts.delayReason != event.message
        }
        if isNew { report("\(event.message); retrying") }
    }

    /// Writes a message, except in the style JSON, whose reports contain the state of the connection.
    private func report(_ text: String) {
        if style == .json { return }
        block.clear()
        ConnectionWatch.print(text)
    }

    /// Removes the progress line and returns the last report.
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
        let metrics = await client.metrics
        let status = client.currentStatus
        var report = TransferReport()
        report.sent = counts.sent
        report.accepted = counts.accepted
        report.failed = counts.failed
        report.received = counts.received
        report.missed = counts.missed
        report.replacedLogs = counts.replacedLogs
        let count = { (name: String) in UInt64(metrics["martlet_client_\(name)"] ?? 0) }
        let roundTrips = metrics.histogram("martlet_client_round_trip_seconds")
        report.reconnects = count("reconnects")
        report.resumes = count("resumes")
        report.retransmissions = count("frames_retransmitted")
        report.rttP50 = roundTrips?.quantile(0.5).map { Quantity.seconds($0) * 1000 }
        report.rttP99 = roundTrips?.quantile(0.99).map { Quantity.seconds($0) * 1000 }
        report.bytesSent = count("sent_bytes")
        report.bytesReceived = count("received_bytes")
        report.seconds = Quantity.seconds(begin.duration(to: .now))
        report.online = status.isOnline
        report.status = status.explanation + (counts.delayReason.map { "; \($0)" } ?? "")
        return report
    }
}

/// A line on standard error that is redrawn in place.
final class LiveLine: Sendable {
    private let isShown = Guarded(false)

    /// Replaces the line.
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

/// The transfer of an attachment by a command.
enum AttachmentTransfer {
    /// Connects, opens the room, and performs a transfer.
    static func run(
        _ arguments: ParsedArguments, agent: String, _ body: @escaping @Sendable (Room) async throws -> Void
    ) async throws {
        do {
            try await RoomTask.run(arguments, agent: agent) { _, room in try await body(room) }
        } catch is CancellationError {
            throw CommandError(.interrupted, "interrupted; the next command continues")
        } catch let error as MartletError where error.code == .fileFailed {
            throw CommandError(.inputOutput, error.reason ?? "")
        } catch let error as MartletError {
            throw CommandError(error)
        }
    }
}
