import Testing

@testable import MartletTransport

@Suite("The choice of a proxy")
struct ProxyConfigurationTests {
    private static func selector(_ variables: [String: String]) -> ProxySelector {
        ProxySelector(.automatic) { variables[$0] }
    }

    private static func endpoint(_ text: String) throws -> Endpoint { try Endpoint(parsing: text) }

    private static func source(_ variables: [String: String], _ text: String) throws -> SelectedProxy.Source? {
        selector(variables).proxy(for: try endpoint(text))?.source
    }

    // C-126
    @Test func `variables of the environment → the proxy of curl's order`() throws {
        let all = ["https_proxy": "a", "HTTPS_PROXY": "b", "all_proxy": "c", "ALL_PROXY": "d"]
        #expect(try Self.source(all, "martlets://chat.example") == .variable("https_proxy"))
        #expect(try Self.source(all, "wss://chat.example") == .variable("https_proxy"))
        #expect(try Self.source(all, "martlet://chat.example") == .variable("all_proxy"))
        let upper = ["HTTPS_PROXY": "b", "ALL_PROXY": "d"]
        #expect(try Self.source(upper, "martlets://chat.example") == .variable("HTTPS_PROXY"))
        #expect(try Self.source(upper, "ws://chat.example") == .variable("ALL_PROXY"))
        #expect(try Self.source(["https_proxy": "", "ALL_PROXY": "d"], "chat.example") == .variable("ALL_PROXY"))
        #expect(try Self.source(["http_proxy": "a"], "martlet://chat.example") == nil)
        #expect(try Self.source([:], "chat.example") == nil)
    }

    // C-126
    @Test func `an invalid variable → no proxy, and the name of the variable without its value`() throws {
        let selector = Self.selector(["HTTPS_PROXY": "https://u:secret@proxy.example"])
        #expect(try selector.proxy(for: Self.endpoint("chat.example")) == nil)
        #expect(
            selector.faults.map(\.description)
                == ["HTTPS_PROXY: the scheme of the proxy is none of http, socks5 and socks5h"])
    }

    // C-126
    @Test func `an invalid variable before a valid one → the proxy of the valid one, and the name of the other`() throws
    {
        let selector = Self.selector(["https_proxy": "ftp://p", "HTTPS_PROXY": "http://q", "ALL_PROXY": "x:y:z"])
        #expect(try selector.proxy(for: Self.endpoint("chat.example"))?.source == .variable("HTTPS_PROXY"))
        #expect(selector.faults.map(\.variable) == ["ALL_PROXY", "https_proxy"])
    }

    // C-126
    @Test(arguments: [
        (["HTTPS_PROXY": "x:y:z"], "chat.example", ["HTTPS_PROXY"]),
        (["HTTPS_PROXY": "x:y:z"], "martlet://chat.example", []),
        (["HTTPS_PROXY": "x:y:z"], "localhost", []), (["ALL_PROXY": "x:y:z"], "martlet://127.0.0.1", []),
        (["HTTPS_PROXY": "x:y:z", "NO_PROXY": "example"], "chat.example", []),
        (["HTTPS_PROXY": "x:y:z", "NO_PROXY": "example:7227"], "chat.example", []),
        (["HTTPS_PROXY": "x:y:z", "NO_PROXY": "example:7227"], "wss://chat.example", ["HTTPS_PROXY"]),
        (["HTTPS_PROXY": "http://p", "ALL_PROXY": "x:y:z"], "chat.example", []),
        (["HTTPS_PROXY": "http://p", "ALL_PROXY": "x:y:z"], "martlet://chat.example", ["ALL_PROXY"]),
        (["HTTPS_PROXY": "x:y:z", "ALL_PROXY": "http://p"], "chat.example", ["HTTPS_PROXY"]),
        (["HTTPS_PROXY": "x:y:z", "ALL_PROXY": "x:y:z"], "chat.example", ["HTTPS_PROXY", "ALL_PROXY"]),
    ])
    func `invalid variables → those that would choose the proxy for the address`(
        variables: [String: String], address: String, names: [String]
    ) throws {
        let selector = Self.selector(variables)
        #expect(selector.faults(for: try Self.endpoint(address)).map(\.variable) == names)
        #expect(ProxySelector(.none) { variables[$0] }.faults.isEmpty)
    }

    // C-126
    @Test func `a loopback address → no proxy, also with one of the configuration`() throws {
        let proxy = try ProxyAddress("http://proxy.example")
        let selector = ProxySelector(.proxy(proxy)) { _ in nil }
        for text in [
            "martlets://localhost", "martlets://127.0.0.7", "martlets://[::1]", "martlets://localhost.",
            "martlets://chat.localhost", "martlets://[::ffff:127.0.0.1]", "martlets://0.0.0.0", "martlets://[::]",
        ] {
            #expect(try selector.proxy(for: Self.endpoint(text)) == nil)
        }
        #expect(try selector.proxy(for: Self.endpoint("chat.example"))?.isExclusive == true)
        #expect(try ProxySelector(.none) { _ in "http://p" }.proxy(for: Self.endpoint("chat.example")) == nil)
    }

    // C-127
    @Test func `an HTTP proxy of the environment → not exclusive; one of SOCKS is`() throws {
        let chat = try Self.endpoint("chat.example")
        #expect(Self.selector(["HTTPS_PROXY": "http://p"]).proxy(for: chat)?.isExclusive == false)
        #expect(Self.selector(["ALL_PROXY": "socks5h://p"]).proxy(for: chat)?.isExclusive == true)
    }

    // C-126
    @Test(arguments: [
        ("*", "chat.example", true), ("*:7227", "martlets://chat.example", true),
        ("*:7227", "martlets://192.0.2.1", true), ("*:7227", "wss://chat.example", false),
        ("chat.example", "chat.example", true), ("CHAT.example", "chat.Example", true),
        ("example", "chat.example", true), (".example", "chat.example", true), ("*.example", "chat.example", true),
        ("example.", "chat.example.", true), ("at.example", "chat.example", false),
        ("other, chat.example", "chat.example", true), ("other chat.example", "chat.example", true),
        ("chat.example:7227", "martlets://chat.example", true), ("chat.example:443", "martlets://chat.example", false),
        ("chat.example:443", "wss://chat.example", true), ("192.0.2.1", "martlets://192.0.2.1", true),
        ("192.0.2.0/24", "martlets://192.0.2.9", true), ("192.0.2.0/24", "martlets://192.0.3.9", false),
        ("192.0.2.0/24", "martlets://[::ffff:192.0.2.9]", true), ("192.0.2.0/24", "chat.example", false),
        ("2.1", "martlets://192.0.2.1", false),
        ("[2001:db8::1]", "martlets://[2001:db8::1]", true), ("2001:db8::/32", "martlets://[2001:db8:1::7]", true),
        ("[2001:db8::1]:7227", "martlets://[2001:db8::1]", true),
        ("[2001:db8::1]:1", "martlets://[2001:db8::1]", false), ("chat.example:x", "chat.example", false),
        ("", "chat.example", false), (",, ,", "chat.example", false), (".", "chat.example", false),
    ])
    func `names, addresses, networks and ports in NO_PROXY → the hosts that they contain`(
        list: String, address: String, isExcluded: Bool
    ) throws {
        let selector = Self.selector(["HTTPS_PROXY": "http://p", "NO_PROXY": list])
        #expect((try selector.proxy(for: Self.endpoint(address)) == nil) == isExcluded)
    }

    @Test func `more entries than the bound → the further ones are ignored`() throws {
        let others = (0..<ProxyExclusions.maxEntryCount).map { "host\($0)" }
        let chat = try Self.endpoint("chat.example")
        #expect(ProxyExclusions(others.dropLast().joined(separator: ",") + ",chat.example").contains(chat))
        #expect(!ProxyExclusions(others.joined(separator: ",") + ",chat.example").contains(chat))
    }
}
