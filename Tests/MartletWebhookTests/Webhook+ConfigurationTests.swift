import Testing

@testable import MartletWebhook

@Suite
struct WebhookConfigurationTests {
    //
    @Test(
        "https addresses and http addresses of the loopback interface are accepted",
        arguments: [
            "https://push.example.org", "https://push.example.org:8443/a/b?key=1", "HTTPS://192.0.2.1/",
            "http://localhost:80/x", "http://127.0.0.1:8080/", "http://127.4.5.6/", "http://[::1]:9/x",
        ])
    func valid(url: String) throws {
        #expect(try Webhook.Configuration(url: url).url == url)
    }

    //
    @Test(
        "other text is no address",
        arguments: [
            "", "push.example.org", "ftp://push.example.org/", "https://", "https:///x", "https://user@host/",
            "https://user:word@host/", "https://host/#part", "file:///etc/passwd",
            "https://host/a b", "https://host/\u{E9}", "https://host\\@other/", "https://host:0/", "https://host:x/",
        ])
    func invalid(url: String) {
        #expect(throws: WebhookError.invalidURL(url)) { try Webhook.Configuration(url: url) }
    }

    //
    @Test(
        "an http address of another host is refused",
        arguments: ["push.example.org", "192.0.2.1", "localhost.example"])
    func plaintext(host: String) {
        #expect(throws: WebhookError.plaintextNotAllowed(host: host)) {
            try Webhook.Configuration(url: "http://\(host)/")
        }
    }

    //
    @Test("a secret of less than 16 bytes is refused")
    func secret() throws {
        let url = "https://push.example.org/"
        #expect(throws: WebhookError.shortSecret) {
            try Webhook.Configuration(url: url, secret: [UInt8](repeating: 1, count: 15))
        }
        #expect(try Webhook.Configuration(url: url, secret: [UInt8](repeating: 1, count: 16)).secret?.count == 16)
    }
}
