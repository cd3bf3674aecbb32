/// The retry policy of a request to a webhook.
///
/// | state | owns | ends |
/// |---|---|---|
/// | attempting | the number of attempts that have ended | `attemptEnded`: a next attempt after a wait, or the end |
/// | ended | the same | |
///
/// | outcome of an attempt | answer |
/// |---|---|
/// | status 200 to 299 | delivered |
/// | status 429, or 500 to 599 | repeat, not before `Retry-After` |
/// | another status | refused |
/// | no answer: the connection failed, or the timeout has passed | repeat |
/// | repeat, and it was the last attempt | gave up |
public struct WebhookRetry: Sendable {
    /// The bounds of the attempts.
    public struct Configuration: Equatable, Sendable {
        /// The maximum number of attempts of a request, at least 1.
        public var maxAttemptCount = 6
        /// The longest wait before the second attempt; it doubles with each further one.
        public var base: Duration = .seconds(1)
        /// The longest wait without `Retry-After`.
        public var cap: Duration = .seconds(30)
        /// The longest wait because of `Retry-After`.
        public var maxRetryAfter: Duration = .seconds(120)

        /// The default configuration.
        public init() {}
    }

    /// The end of an attempt.
    public enum Outcome: Equatable, Sendable {
        /// The gateway has answered.
        case answered(status: Int, retryAfter: Duration? = nil)
        /// The attempt had no response.
        case failed
    }

    /// The action after an attempt.
    public enum Answer: Equatable, Sendable {
        /// The gateway has taken the request.
        case delivered
        /// The next attempt follows after a wait.
        case retry(after: Duration)
        /// The gateway has refused the request.
        case refused(status: Int)
        /// No attempt is left.
        case gaveUp(attemptCount: Int, status: Int?)
    }

    private let configuration: Configuration
    private var attemptCount = 0

    /// Creates the state of a request before its first attempt.
    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
    }

    /// An attempt has ended.
    public mutating func attemptEnded(
        _ outcome: Outcome, using random: inout some RandomNumberGenerator
    ) -> Answer {
        attemptCount += 1
        var (status, retryAfter): (Int?, Duration) = (nil, .zero)
        if case .answered(let code, let wait) = outcome {
            switch code {
            case 200...299: return .delivered
            case 429, 500...599: (status, retryAfter) = (code, wait ?? .zero)
            default: return .refused(status: code)
            }
        }
        guard attemptCount < configuration.maxAttemptCount else {
            return .gaveUp(attemptCount: attemptCount, status: status)
        }
        return .retry(after: max(backoff(using: &random), min(retryAfter, configuration.maxRetryAfter)))
    }

    /// The wait after the attempts so far, drawn between half of a ceiling and the ceiling, so that the requests of a
    /// relay are not repeated at the same time.
    private func backoff(using random: inout some RandomNumberGenerator) -> Duration {
        let doublings = min(attemptCount - 1, 30)
        let ceiling = min(configuration.base * (1 << doublings), configuration.cap)
        let permille = 500 + Int(((random.next() >> 32) * 501) >> 32)
        return ceiling * permille / 1000
    }
}
