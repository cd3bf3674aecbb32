import Foundation
import MartletMetrics
import MartletRelay
import Testing

@testable import Martlet
@testable import MartletLink

@Suite struct ClientMetricsTests {
    @Test func `connections, states and messages → the metrics of each`() {
        var connections = ConnectionMetrics(now: .zero)
        connections.attempted(now: .zero)
        connections.entered(.connecting(attempt: 1), now: .zero + .seconds(1))
        connections.failed(.unreachable)
        var metrics = ClientMetrics(connections, now: .zero + .seconds(3))
        metrics.counts.accepted = 7
        metrics.counts.failures = ["expired": 2, "closed": 1]
        metrics.traffic.framesSent = 9
        metrics.acceptances.record(.seconds(1))
        let snapshot = metrics.snapshot
        #expect(snapshot["martlet_client_connection_attempts"] == 1)
        #expect(snapshot["martlet_client_connection_failures", .init(name: "reason", value: "unreachable")] == 1)
        #expect(snapshot["martlet_client_state_seconds", .init(name: "state", value: "connecting")] == 2)
        #expect(snapshot["martlet_client_state_seconds", .init(name: "state", value: "idle")] == 1)
        let labels = [Metric.Label(name: "from", value: "idle"), Metric.Label(name: "to", value: "connecting")]
        #expect(snapshot["martlet_client_state_transitions", labels[0], labels[1]] == 1)
        #expect(snapshot["martlet_client_messages_accepted"] == 7)
        #expect(snapshot["martlet_client_messages_failed", .init(name: "reason", value: "expired")] == 2)
        #expect(snapshot["martlet_client_frames_sent"] == 9)
        #expect(snapshot.histogram("martlet_client_message_accepted_seconds")?.count == 1)
    }

    @Test func `a client that sends and receives → counts and durations, also after it has stopped`() async throws {
        try await withRelay { relay in
            let alice = try Client(to: relay, as: .anonymous("alice"), configuration: .patient)
            try await alice.start()
            let lobby = try await alice.open(room: "lobby", options: .init(includesOwnMessages: true))
            _ = try await lobby.send("hello").accepted()
            #expect(try await lobby.messages.first(1).count == 1)
            await alice.stop()
            let metrics = await alice.metrics
            #expect(metrics["martlet_client_messages_accepted"] == 1)
            #expect(metrics["martlet_client_messages_received"] == 1)
            #expect(metrics["martlet_client_messages_pending"] == 0)
            #expect(metrics["martlet_client_connections_established"] == 1)
            #expect(metrics.histogram("martlet_client_message_accepted_seconds")?.count == 1)
            #expect(metrics.histogram("martlet_client_handshake_seconds")?.count == 1)
            #expect(try #require(metrics["martlet_client_sent_bytes"]) > 0)
        }
    }

    @Test func `Guides/metrics.md → has the row of each metric, in the order of the snapshot`() throws {
        let metrics = ClientMetrics(ConnectionMetrics(now: .zero), now: .zero)
        let rows = metrics.snapshot.metrics.map { "| `\($0.name)` | \($0.kind) | \($0.help) |" }
        let guide = URL(filePath: #filePath).appending(path: "../../../../Guides/metrics.md").standardizedFileURL
        let lines = try String(contentsOf: guide, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(lines.filter { $0.hasPrefix("| `martlet_client_") } == rows, "\(rows.joined(separator: "\n"))")
    }
}
