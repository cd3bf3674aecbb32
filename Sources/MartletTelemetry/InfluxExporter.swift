public import MartletRelay
import MartletTransport
import MartletWebhook
import MartletWire

/// Writes the points of clients to InfluxDB, or to another database with its line protocol (R-193,
/// Guides/telemetry.md).
///
/// ```swift
/// let exporter = try InfluxExporter(
///     try .init(url: "http://127.0.0.1:8086/write?db=app", spoolFolder: "/var/lib/martlet/telemetry"))
/// let relay = Relay(
///     configuration: configuration, store: store, authenticator: authenticator, policy: policy, telemetry: exporter)
/// ```
///
/// Points are durable in the spool before their client learns that they are taken. A task posts them in their order.
///
/// | answer of the database | action |
/// |---|---|
/// | status 200 to 299 | the lines are removed from the spool |
/// | 400, 413, 422 | the lines are posted in halves, and a line that is refused alone is dropped |
/// | any other, or none | the lines are posted again after a wait |
public final class InfluxExporter: TelemetrySink {
    /// The duration after which a client repeats a batch that was refused.
    private static let busyDuration: Duration = .seconds(10)

    private let configuration: Configuration
    private let core: ExportCore
    private let series: Guarded<SeriesTable>
    private let counts = Guarded(TelemetryMetrics())
    private let task: Task<Void, Never>

    /// Creates an exporter, and starts to post what the spool has.
    ///
    /// - Throws: An error of files. Its description states that another process uses the spool, if one does.
    public convenience init(
        _ configuration: Configuration, onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) throws {
        let session = WebhookSession()
        try self.init(configuration, onEvent: onEvent) { body in
            await session.perform(
                WebhookRequest(
                    url: configuration.url, fields: configuration.fields, body: body, timeout: configuration.timeout))
        } wait: {
            try await Task.sleep(for: $0)
        }
    }

    /// Creates an exporter that posts and waits by calling closures.
    init(
        _ configuration: Configuration, onEvent: @escaping @Sendable (Event) -> Void,
        post: @escaping @Sendable ([UInt8]) async -> WebhookRetry.Outcome,
        wait: @escaping @Sendable (Duration) async throws -> Void
    ) throws {
        self.configuration = configuration
        series = Guarded(
            SeriesTable(
                maxCount: configuration.maxSeriesCount, maxCountOfSource: configuration.maxSeriesPerAccountCount))
        let spool = try TelemetrySpool(configuration.spoolFolder, maxByteCount: UInt64(configuration.maxSpoolByteCount))
        let core = ExportCore(spool, retry: configuration.retry, onEvent: onEvent, post: post, wait: wait)
        self.core = core
        task = Task { await core.run() }
    }

    deinit { task.cancel() }

    /// Ends the attempts. Points that were not posted stay in the spool.
    public func shutdown() async {
        task.cancel()
        core.wake()
        await task.value
    }

    /// What the exporter has counted.
    public var metrics: TelemetryMetrics {
        var metrics = counts.withLock { $0 }
        core.add(to: &metrics)
        metrics.spoolLimit = UInt64(configuration.maxSpoolByteCount)
        return metrics
    }

    /// Makes points durable. Points beyond the bounds are dropped.
    public func write(
        _ points: [TelemetryPoint], of agent: String?, from source: TelemetrySource
    ) async -> TelemetryAnswer {
        let now = Duration.milliseconds(Int64(clamping: EventLoop.wallClock))
        let agent = configuration.agentTag == nil ? nil : agent.flatMap { Self.tagValue($0) }
        let added = agent.flatMap { value in configuration.agentTag.map { [TelemetryPoint.Tag($0, value)] } } ?? []
        var lines: [[UInt8]] = []
        var (late, beyond) = (0, 0)
        for point in points {
            let age = now - .nanoseconds(point.time)
            guard age <= configuration.maxAge, age >= .zero - configuration.maxAhead else {
                late += 1
                continue
            }
            guard series.withLock({ $0.admit(point.series, of: agent, from: source) }) else {
                beyond += 1
                continue
            }
            lines.append(LineProtocol.line(of: point, adding: added))
        }
        let isTaken = lines.isEmpty ? true : await core.append(lines)
        counts.withLock { counts in
            if !isTaken { counts.refusedBatches += 1 }
            guard isTaken else { return }
            counts.outOfTime += UInt64(late)
            counts.beyondCardinality += UInt64(beyond)
            counts.accepted += UInt64(lines.count)
        }
        return isTaken ? .taken : .busy(retryAfter: Self.busyDuration)
    }

    /// An agent as the value of a tag; nil if it is not one.
    private static func tagValue(_ agent: String) -> String? {
        let point = TelemetryPoint("agent", tags: [.init("agent", agent)], fields: [.init("value", true)], time: 0)
        return point.isValid ? agent : nil
    }
}

/// The spool of an exporter, and the task that posts its lines.
private final class ExportCore: Sendable {
    private struct Counts {
        var posted: UInt64 = 0
        var failed: UInt64 = 0
        var rejected: UInt64 = 0
        var faults: Set<Fault> = []
        /// The status of the last failed request, nil without an answer; nil if the last request has succeeded.
        var failure: Int??
    }

    /// A fault of which the log states the beginning.
    private enum Fault {
        case full
        case write
        case read
    }

    /// The maximum size of the lines of a request, in bytes.
    private static let maxRequestByteCount = 256 * 1024
    /// The maximum number of refused requests for the lines of one batch that are split. The database has taken the
    /// valid lines of a refused request, so that further ones are dropped with little loss.
    private static let maxSplitCount = 64

    private let spool: TelemetrySpool
    private let retry: WebhookRetry.Configuration
    private let onEvent: @Sendable (InfluxExporter.Event) -> Void
    private let post: @Sendable ([UInt8]) async -> WebhookRetry.Outcome
    private let wait: @Sendable (Duration) async throws -> Void
    private let counts = Guarded(Counts())
    private let wakeups = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    init(
        _ spool: TelemetrySpool, retry: WebhookRetry.Configuration,
        onEvent: @escaping @Sendable (InfluxExporter.Event) -> Void,
        post: @escaping @Sendable ([UInt8]) async -> WebhookRetry.Outcome,
        wait: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.spool = spool
        var retry = retry
        retry.maxAttemptCount = .max
        self.retry = retry
        self.onEvent = onEvent
        self.post = post
        self.wait = wait
    }

    func wake() { wakeups.continuation.yield() }

    func add(to metrics: inout TelemetryMetrics) {
        let counts = counts.withLock { $0 }
        metrics.posted = counts.posted
        metrics.failedPosts = counts.failed
        metrics.rejected = counts.rejected
        metrics.spoolByteCount = spool.byteCount
    }

    // MARK: Spool

    /// Appends lines durably. Returns whether the spool has taken them.
    func append(_ lines: [[UInt8]]) async -> Bool {
        do throws(TelemetrySpool.Failure) {
            try await spool.append(lines)
            end(.full)
            hasRecovered(.write)
            wake()
            return true
        } catch {
            switch error {
            case .full: if note(.full) { onEvent(.spoolFull) }
            case .file(let error): failed(.write, error)
            }
            return false
        }
    }

    /// Adds a fault that lasts. Returns whether it is a new one.
    private func note(_ fault: Fault) -> Bool { counts.withLock { $0.faults.insert(fault).inserted } }

    /// Removes a fault.
    private func end(_ fault: Fault) { counts.withLock { _ = $0.faults.remove(fault) } }

    private func failed(_ fault: Fault, _ error: any Error) {
        if note(fault) { onEvent(.spoolFailed("\(error)")) }
    }

    /// A call for the spool has succeeded. The recovery is reported when neither writing nor reading fails.
    private func hasRecovered(_ fault: Fault) {
        let isRecovery = counts.withLock { counts in
            counts.faults.remove(fault) != nil && counts.faults.isDisjoint(with: [.write, .read])
        }
        if isRecovery { onEvent(.spoolRecovered) }
    }

    // MARK: Posting

    func run() async {
        var wakeups = wakeups.stream.makeAsyncIterator()
        while !Task.isCancelled {
            do {
                let (batch, damaged) = try await spool.next(byteCount: Self.maxRequestByteCount)
                if damaged > 0 { onEvent(.spoolDamaged(byteCount: damaged)) }
                guard let batch else {
                    hasRecovered(.read)
                    _ = await wakeups.next()
                    continue
                }
                var splitCount = 0
                guard await post(batch.lines[...], &splitCount) else { return }
                try await spool.taken(batch)
                hasRecovered(.read)
            } catch {
                failed(.read, error)
                try? await wait(retry.cap)
            }
        }
    }

    /// Posts lines until the database has taken or refused them. Returns false after a cancellation.
    private func post(_ lines: ArraySlice<[UInt8]>, _ splitCount: inout Int) async -> Bool {
        let body = Array(lines.joined())
        var attempts = WebhookRetry(retry)
        var random = SystemRandomNumberGenerator()
        while !Task.isCancelled {
            let outcome = await post(body)
            guard !Task.isCancelled else { return false }
            switch attempts.attemptEnded(outcome, using: &random) {
            case .delivered:
                taken(lines.count)
                return true
            case .refused(let status) where [400, 413, 422].contains(status):
                guard lines.count > 1, splitCount < Self.maxSplitCount else {
                    reject(lines.count, status)
                    return true
                }
                splitCount += 1
                let middle = lines.startIndex + lines.count / 2
                guard await post(lines[..<middle], &splitCount) else { return false }
                return await post(lines[middle...], &splitCount)
            // The fault is that of the configuration, such as a token that has expired, and not that of the lines.
            case .refused(let status): await repeatLater(after: retry.cap, status: status)
            case .retry(let duration):
                let status: Int? = if case .answered(let status, _) = outcome { status } else { nil }
                await repeatLater(after: duration, status: status)
            case .gaveUp: return false
            }
        }
        return false
    }

    private func taken(_ count: Int) {
        let hasRecovered = counts.withLock { counts in
            counts.posted += UInt64(count)
            return counts.failure.take() != nil
        }
        if hasRecovered { onEvent(.recovered) }
    }

    private func reject(_ count: Int, _ status: Int) {
        counts.withLock { $0.rejected += UInt64(count) }
        onEvent(.rejected(count: count, status: status))
    }

    private func repeatLater(after duration: Duration, status: Int?) async {
        let isNew = counts.withLock { counts in
            counts.failed += 1
            defer { counts.failure = .some(status) }
            return counts.failure != .some(status)
        }
        if isNew { onEvent(.unavailable(status: status)) }
        try? await wait(duration)
    }
}
