import Foundation
import MartletLink
import MartletWire
import Testing

@testable import MartletWebhook

@Suite("Webhook and an HTTP server")
struct WebhookTests {
    private static let secret = Array("0123456789abcdef".utf8)

    /// Posts the sample report. Returns the waits between the attempts.
    private static func post(
        to gateway: StubGateway, secret: [UInt8]? = nil, _ change: (inout Webhook.Configuration) -> Void = { _ in }
    ) async throws -> [Duration] {
        var configuration = try Webhook.Configuration(url: gateway.url, secret: secret)
        // A timeout that does not pass on a busy machine.
        configuration.timeout = .seconds(3600)
        change(&configuration)
        let (waits, continuation) = AsyncStream<Duration>.makeStream()
        let webhook = Webhook(configuration) { continuation.yield($0) }
        try await webhook.report(.sample)
        continuation.finish()
        return await waits.reduce(into: []) { $0.append($1) }
    }

    //
    @Test("a report is one signed POST of its document")
    func signed() async throws {
        let gateway = try StubGateway((204, []))
        let begun = UInt64(Date().timeIntervalSince1970)
        let waits = try await Self.post(to: gateway, secret: Self.secret)
        #expect(waits.isEmpty && gateway.requests.count == 1)
        let request = try #require(gateway.requests.first)
        #expect(request.line == "POST /push?key=1 HTTP/1.1")
        #expect(request.body == WebhookPayload.encode(.sample, includesContent: false))
        #expect(request.fields["content-type"] == "application/json")
        let seconds = try #require(request.fields["martlet-timestamp"].flatMap { UInt64($0) })
        #expect(seconds >= begun)
        let expected = WebhookSignature(request.body, secret: Self.secret, at: seconds)
        #expect(request.fields["martlet-signature"] == expected.signature)
        await gateway.close()
    }

    //
    @Test("a request after the replacement of the secret is signed with the new one; a short one is refused")
    func replacedSecret() async throws {
        let gateway = try StubGateway((204, []))
        let webhook = Webhook(try Webhook.Configuration(url: gateway.url, secret: Self.secret))
        #expect(throws: WebhookError.shortSecret) { try webhook.replaceSecret(by: [1]) }
        let secret = Array("fedcba9876543210".utf8)
        try webhook.replaceSecret(by: secret)
        try await webhook.report(.sample)
        let request = try #require(gateway.requests.first)
        let seconds = try #require(request.fields["martlet-timestamp"].flatMap { UInt64($0) })
        #expect(
            request.fields["martlet-signature"]
                == WebhookSignature(request.body, secret: secret, at: seconds).signature)
        await gateway.close()
    }

    //
    @Test("without a secret there is no signature, and with the option the document has the text")
    func unsigned() async throws {
        let gateway = try StubGateway((200, []))
        _ = try await Self.post(to: gateway) { $0.includesContent = true }
        let request = try #require(gateway.requests.first)
        #expect(request.fields["martlet-timestamp"] == nil && request.fields["martlet-signature"] == nil)
        #expect(request.body == WebhookPayload.encode(.sample, includesContent: true))
        await gateway.close()
    }

    //
    @Test(
        "a response with an endless or a stalled body delivers the report, and its connection is closed",
        arguments: [StubGateway.Body.endless, .stalled])
    func unfinishedBody(_ body: StubGateway.Body) async throws {
        let gateway = try StubGateway((200, []), body: body)
        let webhook = Webhook(try Webhook.Configuration(url: gateway.url))
        try await webhook.report(.sample)
        for await _ in gateway.closed { break }
        #expect(gateway.requests.count == 1)
        await gateway.close()
        withExtendedLifetime(webhook) {}
    }

    //
    @Test("the statuses 503 and 429 are repeated, not before Retry-After, until an attempt succeeds")
    func repeats() async throws {
        let gateway = try StubGateway((503, ["Retry-After: 50"]), (429, []), (200, []))
        let waits = try await Self.post(to: gateway)
        #expect(waits.count == 2 && waits.first == .seconds(50))
        #expect(gateway.requests.count == 3 && Set(gateway.requests.map(\.body)).count == 1)
        await gateway.close()
    }

    //
    @Test("a refusal and a redirect are errors after one attempt", arguments: [400, 302])
    func refusals(status: Int) async throws {
        let gateway = try StubGateway((status, ["Location: /other"]), (200, []))
        await #expect(throws: WebhookError.refused(status: status)) { try await Self.post(to: gateway) }
        #expect(gateway.requests.count == 1)
        await gateway.close()
    }

    //
    @Test("a server that closes every connection, or does not listen, is given up")
    func givesUp() async throws {
        let gateway = try StubGateway()
        let error = WebhookError.gaveUp(attemptCount: 3, status: nil)
        await #expect(throws: error) { try await Self.post(to: gateway) { $0.retry.maxAttemptCount = 3 } }
        #expect(gateway.requests.count == 3)
        await gateway.close()
        await #expect(throws: error) { try await Self.post(to: gateway) { $0.retry.maxAttemptCount = 3 } }
        #expect(gateway.requests.count == 3)
    }
}
