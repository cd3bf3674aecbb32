import Martlet
import Testing

@testable import MartletObservation

@Suite("Model of a connection", .timeLimit(.minutes(10)))
@MainActor
struct ConnectionModelTests {
    @Test func `attempts that fail → the status and the next attempt, without changes of isOnline`() async throws {
        try await ModelScript.run { script in
            let model = ConnectionModel(script.client, clock: script.clock)
            let online = ChangeCount { _ = model.isOnline }
            try await script.with(model.run) {
                await observed { model.nextAttempt != nil }
                model.retryNow()
                await observed { if case .connecting(let attempt) = model.status.phase { attempt > 1 } else { false } }
                #expect(!model.isOnline && online.value == 0 && model.stopReason == nil)
            }
        }
    }

    @Test func `a relay that accepts → online, and stopped after the end of the client`() async throws {
        try await withRelay { relay in
            try await ModelScript.run(at: relay) { script in
                let model = ConnectionModel(script.client, clock: script.clock)
                let running = Task { await model.run() }
                await observed { model.isOnline && model.nextAttempt == nil }
                model.enterBackground()
                model.enterForeground()
                await script.client.stop()
                await running.value
                #expect(model.status.phase == .stopped(nil) && !model.isOnline)
            }
        }
    }
}
