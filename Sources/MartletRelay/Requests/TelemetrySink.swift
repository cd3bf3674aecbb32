public import MartletWire

/// Takes the points that clients record, for example for a database. `InfluxExporter` of MartletTelemetry is
/// one.
///
/// A sink receives no account, no device and no address, and no point with a tag that has the name of its account.
public protocol TelemetrySink: Sendable {
    /// Takes points, and returns when they are durable.
    ///
    /// - Parameters:
    ///   - points: Valid points.
    ///   - agent: The name and version of the application.
    ///   - source: The same value for all requests of an account to this process.
    func write(_ points: [TelemetryPoint], of agent: String?, from source: TelemetrySource) async -> TelemetryAnswer

    /// What the sink has counted.
    var metrics: TelemetryMetrics { get }
}

/// A number that is the same for all requests of an account to this process. It does not name the account.
public struct TelemetrySource: Hashable, Sendable {
    private let number: Int

    init(_ account: AccountName) {
        // The hash has a seed of the process.
        number = account.hashValue
    }

    package init(number: Int) { self.number = number }
}

/// The answer of a sink.
public enum TelemetryAnswer: Equatable, Sendable {
    /// The points are durable, or dropped for good.
    case taken
    /// The sink is full. The client keeps the points, and sends them again after the duration.
    case busy(retryAfter: Duration)
}

/// What a sink has counted since its creation.
public struct TelemetryMetrics: Equatable, Sendable {
    /// Points that were made durable.
    public var accepted: UInt64 = 0
    /// Points that were dropped, because the number of series is at its bound.
    public var beyondCardinality: UInt64 = 0
    /// Points that were dropped, because their time is too far from the clock of the relay.
    public var outOfTime: UInt64 = 0
    /// Points that the database has rejected.
    public var rejected: UInt64 = 0
    /// Batches that were refused, because the spool was full or failed.
    public var refusedBatches: UInt64 = 0
    /// Points that the database has taken.
    public var posted: UInt64 = 0
    /// Requests to the database that have failed and are repeated.
    public var failedPosts: UInt64 = 0
    /// The bytes of the spool.
    public var spoolByteCount: UInt64 = 0
    /// The maximum number of bytes of the spool.
    public var spoolLimit: UInt64 = 0

    /// Creates metrics of zero.
    public init() {}
}

/// The requests `telemetry.write` of clients, which a sink takes.
final class TelemetryIntake: Sendable {
    private let sink: any TelemetrySink

    init(_ sink: any TelemetrySink) {
        self.sink = sink
    }

    var metrics: TelemetryMetrics { sink.metrics }

    /// Answers a request. Invalid points are dropped, and do not affect the others.
    func answer(_ request: Request, of account: AccountName) async -> RequestAnswer {
        let batch: TelemetryBatch
        do throws(WireError) {
            batch = try TelemetryBatch(parsing: request.content)
        } catch {
            return RequestAnswer(status: error.code)
        }
        let names = Array(account.text.utf8)
        let points = batch.points.filter { point in !point.tags.contains { Array($0.value.utf8) == names } }
        guard !points.isEmpty else { return RequestAnswer(status: .none) }
        switch await sink.write(points, of: batch.agent, from: TelemetrySource(account)) {
        case .taken: return RequestAnswer(status: .none)
        case .busy(let duration): return RequestAnswer(status: .serverBusy, retryAfter: duration)
        }
    }
}
