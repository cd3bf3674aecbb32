import MartletLink
import MartletMetrics

/// The measurements of a client since its start.
struct ClientMetrics: Sendable {
    /// What the driver counts beside the engine.
    struct Counts: Sendable {
        /// Messages that the relay has accepted, and those that have failed, by the key of the failure.
        var accepted: UInt64 = 0
        var failures: [String: UInt64] = [:]
        /// Messages received in rooms.
        var received: UInt64 = 0
        /// Errors of the outbox that lose nothing: outcomes, cursors and marks are stored again with the next change.
        var outboxFailures: UInt64 = 0
    }

    var connections: ConnectionMetrics
    var roundTrips = Histogram()
    /// The durations from the time at which a message is stored until the relay has accepted it.
    var acceptances = Histogram()
    /// The durations from the time at which a message is stored until the first receipt of a member.
    var deliveries = Histogram()
    /// The durations of the transactions of the outbox.
    var commits = Histogram()
    var traffic = LinkCounters()
    var counts = Counts()
    /// The points of the application.
    var telemetry = TelemetryBatches.Counts()
    var reconnects: UInt64 = 0
    var resumes: UInt64 = 0
    /// Messages without an outcome, and open rooms.
    var pendingCount = 0
    var roomCount = 0
    /// The instant of the measurement.
    var now: Instant

    init(_ connections: ConnectionMetrics, now: Instant) {
        self.connections = connections
        self.now = now
    }

    /// The metrics that Guides/metrics.md lists, in its order.
    var snapshot: MetricsSnapshot {
        var snapshot = MetricsSnapshot()
        addConnections(to: &snapshot)
        addFrames(to: &snapshot)
        addMessages(to: &snapshot)
        addTelemetry(to: &snapshot)
        return snapshot
    }

    private func addConnections(to snapshot: inout MetricsSnapshot) {
        snapshot.addCounter("martlet_client_connection_attempts", "Attempts to connect.", connections.attempts)
        snapshot.addCounter(
            "martlet_client_connections_established", "Connections on which the relay has sent welcome.",
            connections.established)
        snapshot.add(
            "martlet_client_connection_failures", "Attempts and connections that have failed, by reason.", .counter,
            by: "reason", connections.failures.sorted { $0.key < $1.key }.map { ($0.key, Double($0.value)) })
        snapshot.addHistogram(
            "martlet_client_handshake_seconds", "Durations from an attempt to connect to the welcome.",
            connections.handshakes)
        snapshot.addCounter("martlet_client_reconnects", "Connections established after the first.", reconnects)
        snapshot.addCounter("martlet_client_resumes", "Reconnects that have resumed the link.", resumes)
        snapshot.add(
            "martlet_client_state_seconds", "Time in each state of the connection.", .counter, by: "state",
            ConnectionMetrics.StateName.allCases.map {
                ($0.rawValue, connections.duration(of: $0, now: now).inSeconds)
            })
        let transitions = connections.transitions.sorted {
            ($0.key.from.rawValue, $0.key.to.rawValue) < ($1.key.from.rawValue, $1.key.to.rawValue)
        }
        snapshot.add(
            "martlet_client_state_transitions", "Changes of the state of the connection.", .counter,
            transitions.map { transition, count in
                Metric.Sample(
                    labels: [
                        Metric.Label(name: "from", value: transition.from.rawValue),
                        Metric.Label(name: "to", value: transition.to.rawValue),
                    ], value: .number(Double(count)))
            })
    }

    private func addFrames(to snapshot: inout MetricsSnapshot) {
        snapshot.addCounter("martlet_client_pings_sent", "Pings of the heartbeat sent.", connections.pingsSent)
        snapshot.addCounter(
            "martlet_client_pings_answered", "Pings of the heartbeat answered.", connections.pingsAnswered)
        snapshot.addCounter(
            "martlet_client_silent_peers", "Connections that ended because pings were not answered.",
            connections.silentPeers)
        snapshot.addHistogram("martlet_client_round_trip_seconds", "Measured round-trip times.", roundTrips)
        traffic.add(to: &snapshot, prefix: "martlet_client")
    }

    private func addMessages(to snapshot: inout MetricsSnapshot) {
        snapshot.addGauge("martlet_client_rooms", "Open rooms.", roomCount)
        snapshot.addGauge("martlet_client_messages_pending", "Messages without an outcome.", pendingCount)
        snapshot.addCounter(
            "martlet_client_messages_accepted", "Messages that the relay has accepted.", counts.accepted)
        snapshot.add(
            "martlet_client_messages_failed", "Messages that have failed, by reason.", .counter, by: "reason",
            counts.failures.sorted { $0.key < $1.key }.map { ($0.key, Double($0.value)) })
        snapshot.addHistogram(
            "martlet_client_message_accepted_seconds",
            "Durations from the storage of a message in the outbox until the relay has accepted it.", acceptances)
        snapshot.addHistogram(
            "martlet_client_message_delivered_seconds",
            "Durations from the storage of a message in the outbox until a first member has reported its receipt.",
            deliveries)
        snapshot.addHistogram(
            "martlet_client_outbox_commit_seconds", "Durations of the transactions of an outbox with a file.", commits)
        snapshot.addCounter("martlet_client_messages_received", "Messages received in rooms.", counts.received)
        snapshot.addCounter(
            "martlet_client_outbox_failures",
            "Errors of the outbox when it stored outcomes, cursors or marks, which are stored again with the next "
                + "change.", counts.outboxFailures)
    }

    private func addTelemetry(to snapshot: inout MetricsSnapshot) {
        snapshot.addCounter(
            "martlet_client_telemetry_recorded", "Points that the application has recorded.", telemetry.recorded)
        snapshot.addCounter(
            "martlet_client_telemetry_accepted", "Points that the relay has stored.", telemetry.accepted)
        snapshot.add(
            "martlet_client_telemetry_dropped", "Points dropped, by reason.", .counter, by: "reason",
            TelemetryBatches.DropReason.allCases.map { ($0.rawValue, Double(telemetry.dropped[$0] ?? 0)) })
        snapshot.addGauge("martlet_client_telemetry_pending", "Points that wait for the relay.", telemetry.pending)
    }
}
