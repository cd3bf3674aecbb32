import Martlet

extension AsyncSequence where Self: Sendable {
    /// The first elements in order.
    func first(_ count: Int) async throws -> [Element] {
        var elements: [Element] = []
        guard count > 0 else { return [] }
        for try await element in self {
            elements.append(element)
            if elements.count == count { break }
        }
        return elements
    }

    /// The first element that matches.
    @discardableResult
    func first(until matches: (Element) -> Bool) async throws -> Element? {
        for try await element in self where matches(element) { return element }
        return nil
    }
}

/// Runs a client while `body` runs.
func withClient<Result>(
    _ account: String, at relay: String, outbox: some Outbox = .memory,
    configuration: Client.Configuration = .patient,
    _ body: (Client) async throws -> Result
) async throws -> Result {
    let client = try Client(to: relay, as: .anonymous(account), outbox: outbox, configuration: configuration)
    return try await withClient(client, body)
}

extension Client.Configuration {
    /// A client whose `stop` waits without a practical limit, so that a busy machine does not affect the test.
    static var patient: Client.Configuration {
        var configuration = Client.Configuration()
        configuration.flushTimeout = .seconds(3600)
        return configuration
    }

    /// A client that reconnects within milliseconds.
    static var hasty: Client.Configuration {
        var configuration = Client.Configuration()
        configuration.reconnect.base = .milliseconds(1)
        configuration.reconnect.cap = .milliseconds(10)
        configuration.reconnect.peerClosedBase = .milliseconds(1)
        return configuration
    }
}
