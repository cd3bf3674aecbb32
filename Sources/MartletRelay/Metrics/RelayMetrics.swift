import MartletLink
import MartletMetrics
import MartletTransport

/// The measurements of all loops of a relay, which become a snapshot.
struct RelayMetrics: Sendable {
    var engine = EngineMetrics()
    var loops = LoopMetrics()
    /// Calls of the stores and authentications in progress.
    var storeCallCount = 0
    var authenticationCount = 0
    var memoryBudget = 0
    /// The free bytes of the store's file system; nil if they are not measured.
    var freeByteCount: UInt64?
    /// The seconds until the certificate expires; nil without TLS.
    var certificateValidity: Int64?
    /// What the sink of points has counted; nil without one.
    var telemetry: TelemetryMetrics?

    static func += (sum: inout RelayMetrics, other: RelayMetrics) {
        sum.engine += other.engine
        sum.loops += other.loops
        sum.storeCallCount += other.storeCallCount
        sum.authenticationCount += other.authenticationCount
    }

    /// The metrics that Guides/metrics.md lists, in its order.
    var snapshot: MetricsSnapshot {
        var snapshot = MetricsSnapshot()
        addConnections(to: &snapshot)
        addLinks(to: &snapshot)
        addMessages(to: &snapshot)
        addStore(to: &snapshot)
        addResources(to: &snapshot)
        if let telemetry { add(telemetry, to: &snapshot) }
        return snapshot
    }

    private func addConnections(to snapshot: inout MetricsSnapshot) {
        let (statistics, server) = (engine.statistics, engine.statistics.server)
        snapshot.addGauge("martlet_relay_connections", "Current connections.", statistics.connections)
        snapshot.addCounter(
            "martlet_relay_connections_accepted", "Connections accepted.", statistics.connectionsAccepted)
        snapshot.addCounter(
            "martlet_relay_connections_refused", "Connections closed at once, because of a limit.",
            statistics.connectionsRefused)
        snapshot.addHistogram(
            "martlet_relay_handshake_seconds", "Durations from the acceptance of a connection to the welcome.",
            server.handshakes)
        snapshot.addCounts(
            "martlet_relay_peers_refused", "Peers refused in a handshake, by error code.", server.refusals)
        snapshot.addCounts(
            "martlet_relay_peer_faults", "Connections ended for a fault of the peer, by error code.", server.faults)
        snapshot.addGauge(
            "martlet_relay_authentications", "Authentications in progress.", authenticationCount)
        if let certificateValidity {
            snapshot.addGauge(
                "martlet_relay_certificate_validity_seconds",
                "Time until the certificate expires; below zero when it has expired.", certificateValidity)
        }
    }

    private func addLinks(to snapshot: inout MetricsSnapshot) {
        let (statistics, server) = (engine.statistics, engine.statistics.server)
        snapshot.add(
            "martlet_relay_links", "Current links, by their state.", .gauge, by: "state",
            [
                ("connected", Double(statistics.links - statistics.suspendedLinks)),
                ("suspended", Double(statistics.suspendedLinks)),
            ])
        snapshot.addCounter("martlet_relay_links_begun", "Links begun.", server.linksBegun)
        snapshot.addCounter("martlet_relay_links_resumed", "Links resumed on another connection.", server.resumes)
        snapshot.addCounter(
            "martlet_relay_links_refused", "New links refused, because the relay was near its limits.",
            server.linksRefused)
        let shares = [("50", 0.5), ("90", 0.9), ("99", 0.99), ("100", 1)]
        snapshot.add(
            "martlet_relay_link_round_trip_seconds",
            "Percentiles of the smoothed round-trip times of the links with a connection.", .gauge, by: "percentile",
            shares.map { ($0, engine.roundTrips.quantile($1)?.inSeconds ?? .nan) })
        engine.traffic.add(to: &snapshot, prefix: "martlet_relay")
    }

    private func addMessages(to snapshot: inout MetricsSnapshot) {
        let (statistics, counts) = (engine.statistics, engine.counts)
        snapshot.addGauge("martlet_relay_rooms", "Rooms in memory.", statistics.rooms)
        snapshot.addGauge("martlet_relay_sessions", "Sessions of links.", engine.sessions)
        snapshot.addCounter(
            "martlet_relay_messages_stored", "Messages that the store has made durable.", statistics.messagesStored)
        snapshot.addCounter(
            "martlet_relay_messages_delivered", "Messages queued for members of rooms.", counts.deliveries)
        snapshot.add(
            "martlet_relay_batches_replicated", "Batches of messages of other relays, by where they came from.",
            .counter, by: "source",
            [("bus", Double(engine.replicated.fromBus)), ("store", Double(engine.replicated.fromStore))])
        snapshot.addCounts("martlet_relay_messages_refused", "Messages refused, by error code.", counts.refusals)
        snapshot.addCounts(
            "martlet_relay_sessions_reset", "Sessions that the relay has reset, by error code.", counts.resets)
        snapshot.add(
            "martlet_relay_calls", "Calls of the application in progress, by kind.", .gauge, by: "kind",
            [
                ("answer", Double(engine.answerCount)), ("attachment", Double(engine.attachmentCount)),
                ("decision", Double(engine.decisionCount)),
            ])
        snapshot.addCounter(
            "martlet_relay_undelivered_reports", "Reports of undelivered messages passed to the handler.",
            statistics.undeliveredReports)
        snapshot.addCounter(
            "martlet_relay_undelivered_reports_dropped", "Reports of undelivered messages dropped.",
            statistics.undeliveredReportsDropped)
    }

    private func addStore(to snapshot: inout MetricsSnapshot) {
        let calls = loops.storeCalls.sorted { $0.key.rawValue < $1.key.rawValue }
        snapshot.add(
            "martlet_relay_store_call_seconds", "Durations of calls of the store, by call.", .histogram,
            calls.map {
                Metric.Sample(
                    labels: [Metric.Label(name: "call", value: $0.key.rawValue)], value: .histogram($0.value.durations))
            })
        snapshot.add(
            "martlet_relay_store_calls_failed", "Calls of the store that failed, by call.", .counter, by: "call",
            calls.map { ($0.key.rawValue, Double($0.value.failureCount)) })
        snapshot.addGauge("martlet_relay_store_calls", "Calls of the stores in progress.", storeCallCount)
        if let freeByteCount {
            snapshot.addGauge(
                "martlet_relay_disk_free_bytes", "Free space of the store's file system.", freeByteCount)
        }
    }

    private func add(_ telemetry: TelemetryMetrics, to snapshot: inout MetricsSnapshot) {
        snapshot.addCounter(
            "martlet_relay_telemetry_accepted", "Points of clients that were made durable.", telemetry.accepted)
        snapshot.add(
            "martlet_relay_telemetry_dropped", "Valid points of clients dropped, by reason.", .counter, by: "reason",
            [
                ("cardinality", Double(telemetry.beyondCardinality)), ("rejected", Double(telemetry.rejected)),
                ("time", Double(telemetry.outOfTime)),
            ])
        snapshot.addCounter(
            "martlet_relay_telemetry_refused", "Batches of points refused, because the spool was full or failed.",
            telemetry.refusedBatches)
        snapshot.addCounter(
            "martlet_relay_telemetry_posted", "Points that the database has taken, repetitions included.",
            telemetry.posted)
        snapshot.addCounter(
            "martlet_relay_telemetry_posts_failed", "Requests to the database that failed and are repeated.",
            telemetry.failedPosts)
        snapshot.addGauge(
            "martlet_relay_telemetry_spool_bytes", "Points on the disk that the database has not taken.",
            telemetry.spoolByteCount)
        snapshot.addGauge(
            "martlet_relay_telemetry_spool_limit_bytes", "The maximum of these bytes.", telemetry.spoolLimit)
    }

    private func addResources(to snapshot: inout MetricsSnapshot) {
        snapshot.addHistogram("martlet_relay_loop_turn_seconds", "Durations of turns of a loop.", loops.turns)
        snapshot.add(
            "martlet_relay_memory_bytes", "Memory that counts in the budget, by owner.", .gauge, by: "owner",
            [
                ("accounts", Double(engine.accountByteCount)), ("connections", Double(engine.connectionByteCount)),
                ("links", Double(engine.linkByteCount)), ("rooms", Double(engine.roomByteCount)),
            ])
        snapshot.addGauge("martlet_relay_memory_budget_bytes", "The budget of memory.", memoryBudget)
    }
}

extension MetricsSnapshot {
    fileprivate mutating func addCounts(_ name: String, _ help: String, _ counts: CodeCounts) {
        add(name, help, .counter, by: "code", counts.byName.map { ($0.name, Double($0.count)) })
    }
}
