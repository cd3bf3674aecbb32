/// Starts a client, runs `body`, and stops the client, whether `body` returns, throws or is cancelled.
///
/// Stopping waits for queued messages to be accepted, up to `Configuration.flushTimeout`.
///
/// - Throws: what `start` throws, and what `body` does.
nonisolated(nonsending) public func withClient<Result>(
    _ client: Client, _ body: nonisolated(nonsending) (Client) async throws -> Result
) async throws -> Result {
    do {
        try await client.start()
        let result = try await body(client)
        await client.stop()
        return result
    } catch {
        await client.stop()
        throw error
    }
}
