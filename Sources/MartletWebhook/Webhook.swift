import MartletLink
public import MartletRelay
import MartletTransport

/// Posts reports of undelivered messages to a push gateway, as JSON documents (R-138 to R-140, Guides/push.md).
///
/// ```swift
/// let webhook = Webhook(try .init(url: "https://push.example.org/martlet", secret: secret))
/// let relay = Relay(
///     configuration: configuration, store: store, authenticator: authenticator, policy: policy,
///     onUndelivered: webhook)
/// ```
///
/// A report is one request, which is repeated as ``WebhookRetry`` decides. Reports wait at the relay while requests are
/// in progress; a webhook has no queue of its own.
public final class Webhook: UndeliveredHandler {
    private let configuration: Configuration
    private let secret: Guarded<[UInt8]?>
    private let session = WebhookSession()
    private let wait: @Sendable (Duration) async throws -> Void

    /// Creates a webhook.
    public convenience init(_ configuration: Configuration) {
        self.init(configuration) { try await Task.sleep(for: $0) }
    }

    /// Creates a webhook that waits between attempts by calling a closure.
    init(_ configuration: Configuration, wait: @escaping @Sendable (Duration) async throws -> Void) {
        self.configuration = configuration
        secret = Guarded(configuration.secret)
        self.wait = wait
    }

    /// Replaces the secret for the requests that follow.
    ///
    /// - Throws: `WebhookError.shortSecret`.
    public func replaceSecret(by secret: [UInt8]) throws(WebhookError) {
        try Configuration.check(secret)
        self.secret.withLock { $0 = secret }
    }

    /// Posts a report, with further attempts if necessary.
    ///
    /// - Throws: `WebhookError.refused`; `WebhookError.gaveUp`; `CancellationError`.
    public func report(_ report: UndeliveredReport) async throws {
        try await post(WebhookPayload.encode(report, includesContent: configuration.includesContent))
    }

    /// Posts a JSON document in UTF-8, with further attempts if necessary.
    ///
    /// - Throws: `WebhookError.refused`; `WebhookError.gaveUp`; `CancellationError`.
    public func post(_ body: [UInt8]) async throws {
        var retry = WebhookRetry(configuration.retry)
        var random = SystemRandomNumberGenerator()
        while true {
            let outcome = await session.perform(request(body))
            try Task.checkCancellation()
            switch retry.attemptEnded(outcome, using: &random) {
            case .delivered: return
            case .retry(let duration): try await wait(duration)
            case .refused(let status): throw WebhookError.refused(status: status)
            case .gaveUp(let count, let status): throw WebhookError.gaveUp(attemptCount: count, status: status)
            }
        }
    }

    /// Each attempt has a signature of its own time.
    private func request(_ body: [UInt8]) -> WebhookRequest {
        var fields = ["Content-Type: application/json", "User-Agent: martlet"]
        if let secret = secret.withLock({ $0 }) {
            let signature = WebhookSignature(body, secret: secret, at: EventLoop.wallClock / 1000)
            fields.append("\(WebhookSignature.timestampHeader): \(signature.timestamp)")
            fields.append("\(WebhookSignature.signatureHeader): \(signature.signature)")
        }
        return WebhookRequest(
            url: configuration.url, fields: fields, body: body, timeout: configuration.timeout)
    }
}
