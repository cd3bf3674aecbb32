import Testing

@testable import MartletWebhook

@Suite
struct WebhookSignatureTests {
    //
    @Test("the signature is the HMAC of timestamp, period and body, as OpenSSL computes it")
    func known() {
        let signature = WebhookSignature(Array("{}".utf8), secret: Array("0123456789abcdef".utf8), at: 1_700_000_000)
        #expect(signature.timestamp == "1700000000")
        #expect(signature.signature == "sha256=e4f8e2ecae2295b2ddb2f0b5584c8275e226c0ebe9b3b819e70156bb67122e3e")
    }
}
