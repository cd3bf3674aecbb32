import Martlet

/// Runs a proxy before a relay while `body` runs.
func withProxy(to relay: String, _ body: (CuttableProxy) async throws -> Void) async throws {
    let proxy = try CuttableProxy(to: relay)
    do {
        try await body(proxy)
    } catch {
        await proxy.shutdown()
        throw error
    }
    await proxy.shutdown()
}

/// Runs a relay and a proxy that refuses connections until `admit` is called.
func withBarredRelay(_ body: (_ relay: String, CuttableProxy) async throws -> Void) async throws {
    try await withRelay { relay in
        try await withProxy(to: relay) { proxy in
            await proxy.refuse()
            try await body(relay, proxy)
        }
    }
}

/// Yields until an inevitable event has happened, or until the time limit of the suite cancels the test.
func until(_ hasHappened: () async -> Bool) async {
    while !Task.isCancelled, !(await hasHappened()) { await Task.yield() }
}

extension Room.Options {
    /// Options for a client without a connection.
    static let offline = Room.Options(waitsForRelay: false)
}
