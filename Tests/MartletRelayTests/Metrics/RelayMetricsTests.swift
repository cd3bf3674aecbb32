import Foundation
import MartletLink
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct RelayMetricsTests {
    @Test func `links, messages, refusals and resets → counted by the metrics`() async throws {
        let store = SlowStore()
        try await withRelay(store: store) { relay, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open(noLocal: true)
            let bob = try await WirePeer.connect(to: port)
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            try await bob.open()
            #expect(try await alice.publish("hello", counter: 1, on: .first) == 1)
            let delivered: Message = try await bob.expect()
            #expect(delivered.relay?.offset == 1)
            store.setFails(true)
            await alice.write { $0.text("lost", counter: 2, on: .first) }
            let reset: Reset = try await alice.expect()
            #expect(reset.code == .storeUnavailable)

            let metrics = await relay.metrics
            #expect(metrics["martlet_relay_connections"] == 2)
            #expect(metrics["martlet_relay_links", .init(name: "state", value: "connected")] == 2)
            #expect(metrics["martlet_relay_links_begun"] == 2)
            #expect(metrics.histogram("martlet_relay_handshake_seconds")?.count == 2)
            #expect(metrics["martlet_relay_rooms"] == 1)
            #expect(metrics["martlet_relay_messages_stored"] == 1)
            #expect(metrics["martlet_relay_messages_delivered"] == 1)
            #expect(metrics["martlet_relay_sessions_reset", .init(name: "code", value: "storeUnavailable")] == 1)
            #expect(metrics["martlet_relay_store_calls_failed", .init(name: "call", value: "append")] == 1)
            let append = Metric.Label(name: "call", value: "append")
            #expect(metrics.histogram("martlet_relay_store_call_seconds", append)?.count == 2)
            #expect(try #require(metrics["martlet_relay_frames_received"]) >= 4)
            #expect(try #require(metrics["martlet_relay_sent_bytes"]) > 0)
            #expect(try #require(metrics["martlet_relay_memory_bytes", .init(name: "owner", value: "links")]) > 0)
            #expect(await relay.impediments == [.storeFailing])
        }
    }

    @Test func `a relay that does not run → metrics of zero, and that impediment`() async throws {
        let relay = Relay(
            configuration: try .init(port: 0), store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        #expect(await relay.metrics["martlet_relay_connections"] == 0)
        #expect(await relay.impediments == [.notRunning])
        try relay.start()
        #expect(await relay.impediments == [])
        await relay.drain(within: .seconds(1))
        #expect(await relay.impediments == [.draining])
        await relay.shutdown()
        #expect(await relay.impediments == [.notRunning])
    }

    @Test func `Guides/metrics.md → has the row of each metric, in the order of the snapshot`() throws {
        var metrics = RelayMetrics()
        metrics.freeByteCount = 1
        metrics.certificateValidity = 1
        metrics.telemetry = TelemetryMetrics()
        let rows = metrics.snapshot.metrics.map { "| `\($0.name)` | \($0.kind) | \($0.help) |" }
        let guide = URL(filePath: #filePath).appending(path: "../../../../Guides/metrics.md").standardizedFileURL
        let lines = try String(contentsOf: guide, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(lines.filter { $0.hasPrefix("| `martlet_relay_") } == rows, "\(rows.joined(separator: "\n"))")
    }
}
