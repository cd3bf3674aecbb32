import MartletLink
import MartletTransport
public import MartletWire

/// Records measurements of the application, which the client sends to the relay in batches.
///
/// ```swift
/// configuration.telemetry = Telemetry.Configuration()
/// let client = try Client(to: endpoint, as: credentials, configuration: configuration)
/// client.telemetry.record("room_opened", tags: ["cache": "cold"], fields: ["seconds": 0.2, "messages": 40])
/// ```
///
/// Points wait in memory until the relay has stored them, and the oldest are dropped beyond the bounds of the
/// configuration; `Client.metrics` has the numbers. With an outbox in a file, points that cannot be sent are also kept
/// there: those of a client that is offline, at the latest after `Configuration.interval`, and at its end. The next
/// client with the file sends them. With another outbox they are lost when the client ends. A batch is one packet, and
/// the next one is sent when the relay has stored it, so a message waits for one packet at most (C-115).
public struct Telemetry: Sendable {
    /// The bounds of the points of a client.
    public struct Configuration: Sendable {
        /// The maximum number of points that wait, those in the outbox included. Beyond it the oldest are dropped.
        public var maxPointCount = 4096
        /// The maximum size of the points that wait, in bytes, those in the outbox included. Beyond it the oldest are
        /// dropped.
        public var maxByteCount = 512 * 1024
        /// The maximum number of series since the start. Points of further ones are dropped.
        public var maxSeriesCount = 256
        /// The maximum duration for which a point waits for further ones while the client is online.
        public var interval: Duration = .seconds(10)

        /// Creates a configuration with the defaults.
        public init() {}

        /// The bounds that are at least 1.
        var bounds: [(name: String, value: Int)] {
            [
                ("telemetry.maxPointCount", maxPointCount), ("telemetry.maxByteCount", maxByteCount),
                ("telemetry.maxSeriesCount", maxSeriesCount),
            ]
        }
    }

    let core: TelemetryCore?
    let mailbox: Mailbox

    /// Records a point, without waiting. Without `Client.Configuration.telemetry` it has no effect.
    ///
    /// A point that exceeds the bounds of `TelemetryPoint` is dropped. Do not record what identifies a user, such as an
    /// account, a device or an address.
    ///
    /// - Parameters:
    ///   - measurement: The name of what is measured.
    ///   - tags: Properties that distinguish series, each of a small set of values.
    ///   - fields: The measured values.
    ///   - time: The nanoseconds since 1970; nil for now. A database keeps one point of a series at a time. Points
    ///     without a time have different ones.
    public func record(
        _ measurement: String, tags: KeyValuePairs<String, String> = [:],
        fields: KeyValuePairs<String, TelemetryValue>, at time: Int64? = nil
    ) {
        record(
            measurement, tags: tags.map { TelemetryPoint.Tag($0.key, $0.value) },
            fields: fields.map { TelemetryPoint.Field($0.key, $0.value) }, at: time)
    }

    /// Does the same with tags and fields that are not known to the compiler.
    public func record(
        _ measurement: String, tags: [TelemetryPoint.Tag], fields: [TelemetryPoint.Field], at time: Int64? = nil
    ) {
        guard let core else { return }
        let isDue = core.record(at: time) { time in
            TelemetryPoint(measurement, tags: tags, fields: fields, time: time)
        }
        if isDue { mailbox.set { $0.hasTelemetry = true } }
    }
}

extension Client {
    /// Records measurements of the application; see `Configuration.telemetry`.
    public var telemetry: Telemetry { Telemetry(core: life.telemetry, mailbox: life.mailbox) }
}

/// The points that the application records and the loop sends.
final class TelemetryCore: Sendable {
    private let loop: EventLoop
    private let state: Guarded<TelemetryBatches>

    init(_ configuration: Telemetry.Configuration, agent: String?, loop: EventLoop) {
        self.loop = loop
        var random = loop.random
        state = Guarded(TelemetryBatches(configuration, agent: agent, seed: random.next()))
    }

    /// Records a point, for the current time if none is given. Returns whether the deadline has changed.
    func record(at time: Int64?, _ point: (Int64) -> TelemetryPoint) -> Bool {
        let now = Instant(nanoseconds: loop.now)
        return state.withLock { state in
            let before = state.deadline
            state.record(point(time ?? state.makeTime(wallClock: loop.wallTime)), now: now)
            return state.deadline != before
        }
    }

    /// Calls `body` with the points.
    func withBatches<Result: Sendable>(_ body: (inout TelemetryBatches) -> Result) -> Result {
        state.withLock { body(&$0) }
    }
}
