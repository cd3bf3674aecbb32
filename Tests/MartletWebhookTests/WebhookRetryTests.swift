import Testing

@testable import MartletWebhook

@Suite
struct WebhookRetryTests {
    /// Random numbers that choose the same place in every range.
    private struct Constant: RandomNumberGenerator {
        let value: UInt64

        mutating func next() -> UInt64 { value }
    }

    private static func answers(
        _ outcomes: [WebhookRetry.Outcome], _ change: (inout WebhookRetry.Configuration) -> Void = { _ in },
        random: UInt64 = .max
    ) -> [WebhookRetry.Answer] {
        var configuration = WebhookRetry.Configuration()
        change(&configuration)
        var retry = WebhookRetry(configuration)
        var random = Constant(value: random)
        return outcomes.map { retry.attemptEnded($0, using: &random) }
    }

    //
    @Test("any status of success ends the request", arguments: [200, 202, 204, 299])
    func success(status: Int) {
        #expect(Self.answers([.answered(status: status)]) == [.delivered])
    }

    //
    @Test("any other status is refused at once", arguments: [100, 301, 400, 401, 404, 410, 600])
    func refusal(status: Int) {
        #expect(Self.answers([.answered(status: status)]) == [.refused(status: status)])
    }

    //
    @Test("failures and the statuses 429 and 5xx are repeated after doubling waits, and the last one gives up")
    func backoff() {
        let outcomes: [WebhookRetry.Outcome] = [
            .failed, .answered(status: 500), .answered(status: 429), .answered(status: 599), .failed,
            .answered(status: 503),
        ]
        let waits = [1, 2, 4, 8, 16].map { WebhookRetry.Answer.retry(after: .seconds($0)) }
        #expect(Self.answers(outcomes) == waits + [.gaveUp(attemptCount: 6, status: 503)])
        let halves = [0.5, 1, 2, 4, 8].map { WebhookRetry.Answer.retry(after: .seconds($0)) }
        #expect(Self.answers(outcomes, random: 0) == halves + [.gaveUp(attemptCount: 6, status: 503)])
    }

    //
    @Test("a wait does not exceed the cap, and a last attempt without an answer has no status")
    func cap() {
        let answers = Self.answers([.failed, .failed, .failed, .failed]) {
            ($0.cap, $0.maxAttemptCount) = (.seconds(3), 4)
        }
        #expect(
            answers == [
                .retry(after: .seconds(1)), .retry(after: .seconds(2)), .retry(after: .seconds(3)),
                .gaveUp(attemptCount: 4, status: nil),
            ])
    }

    //
    @Test("Retry-After extends a wait up to its maximum, and does not shorten it")
    func retryAfter() {
        let answers = Self.answers([
            .answered(status: 503, retryAfter: .seconds(20)), .answered(status: 429, retryAfter: .zero),
            .answered(status: 429, retryAfter: .seconds(9999)),
        ])
        #expect(
            answers == [.retry(after: .seconds(20)), .retry(after: .seconds(2)), .retry(after: .seconds(120))])
    }
}
