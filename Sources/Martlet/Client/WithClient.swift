/// Starts a client, runs a closure, and stops the client when the closure returns or throws.
///
/// The client is stopped by ``Client/stop()``, which waits for the acceptance of queued messages, for at most
/// `Configuration.flushTimeout`.
///
/// - Parameters:
///   - client: A client that has not been started.
///   - body: A closure that uses the client.
/// - Returns: The result of `body`.
/// - Throws: The errors of ``Client/start()`` and of `body`.
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
