import MartletToolSupport
import MartletTransport
import Testing

@testable import MartletTool

@Suite struct ProxyArgumentsTests {
    private static let invalid = ["HTTPS_PROXY": "https://u:secret@p", "NO_PROXY": "other.example"]

    private static func proxies(_ words: [String], for address: String) throws -> ProxyConfiguration {
        var parser = ArgumentParser(for: SendCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return try ProxyArguments.checkedProxies(arguments, for: address) { invalid[$0] }
    }

    // C-126
    @Test func `an invalid variable that would choose the proxy → a usage error without its value`() {
        let message = "HTTPS_PROXY: the scheme of the proxy is none of http, socks5 and socks5h"
        #expect(throws: UsageError(message: message)) { try Self.proxies([], for: "martlets://chat.example") }
    }

    // C-126
    @Test(arguments: ["localhost", "martlets://127.0.0.1", "martlet://chat.example", "other.example", "a b"])
    func `an invalid variable that is not used for the address → no error`(address: String) throws {
        #expect(try Self.proxies([], for: address) == .automatic)
    }

    // C-126
    @Test func `an invalid variable beside --proxy → no error`() throws {
        #expect(try Self.proxies(["--proxy", "none"], for: "chat.example") == .none)
        #expect(try Self.proxies(["--proxy", "http://p"], for: "chat.example") == .proxy(ProxyAddress("http://p")))
    }
}
