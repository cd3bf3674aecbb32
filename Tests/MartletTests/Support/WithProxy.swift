import Martlet

/// Puts a proxy before a relay for as long as `body` takes.
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

/// A relay, and a proxy before it that lets nobody through until it is told to.
func withBarredRelay(_ body: (_ relay: String, CuttableProxy) async throws -> Void) async throws {
    try await withRelay { relay in
        try await withProxy(to: relay) { proxy in
            await proxy.refuse()
            try await body(relay, proxy)
        }
    }
}

/// Lets others run until something that is certain to happen has happened; the suite's time limit bounds it.
func until(_ hasHappened: () async -> Bool) async {
    while !(await hasHappened()) { await Task.yield() }
}

extension Room.Options {
    /// For a client that has no connection yet.
    static let offline = Room.Options(waitsForRelay: false)
}
