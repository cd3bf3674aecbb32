import Testing

@testable import MartletTransport

@Suite("The address of a proxy")
struct ProxyAddressTests {
    // C-126
    @Test(arguments: [
        ("http://proxy.example:3128", "http://proxy.example:3128"), ("proxy.example", "http://proxy.example:1080"),
        ("http://proxy.example/", "http://proxy.example:1080"), ("HTTP://[2001:db8::1]", "http://[2001:db8::1]:1080"),
        ("socks5://127.0.0.1:9050", "socks5h://127.0.0.1:9050"), ("socks5h://[::1]:9050", "socks5h://[::1]:9050"),
        ("http://ann:secret@Proxy.example:8080", "http://proxy.example:8080"),
    ])
    func `the forms of curl → the address, which its description states without a password`(
        text: String, description: String
    ) throws {
        #expect("\(try ProxyAddress(text))" == description)
    }

    @Test func `encoded credentials → their bytes, in no description and no dump`() throws {
        let proxy = try ProxyAddress("http://a%20nn:s%3Ae@cret%25@proxy.example:1")
        #expect(proxy.credentials?.user == Array("a nn".utf8))
        #expect(proxy.credentials?.password == Array("s:e@cret%".utf8))
        #expect(try ProxyAddress("http://ann@proxy.example").credentials?.password == [])
        var dumped = ""
        dump(proxy, to: &dumped)
        dumped += "\(proxy) \(String(reflecting: proxy)) \(String(describing: proxy.credentials))"
        #expect(dumped.split(separator: "cret", omittingEmptySubsequences: false).count == 1)
        #expect(dumped.split(separator: "99, 114", omittingEmptySubsequences: false).count == 1)
    }

    // C-126
    @Test(arguments: [
        ("", ProxyAddressError.empty), ("http://", .empty), ("http://u:p@", .empty),
        ("https://proxy.example", .unsupportedScheme), ("socks4://proxy.example", .unsupportedScheme),
        ("http://proxy.example:0", .invalidHost), ("http://proxy.example:99999", .invalidHost),
        ("http://pro xy", .invalidHost), ("http://127.1:80", .invalidHost), ("http://proxy.example/path", .invalidHost),
        ("::1", .invalidHost),
        ("http://u%zz:p@proxy.example", .invalidCredentials), ("http://u%0a:p@proxy.example", .invalidCredentials),
        ("http://u%3ax:p@proxy.example", .invalidCredentials), ("http://:p@proxy.example", .invalidCredentials),
        ("http://u%:p@proxy.example", .invalidCredentials),
    ])
    func `an invalid address → a typed error without a part of it`(text: String, error: ProxyAddressError) {
        #expect(throws: error) { try ProxyAddress(text) }
    }

    // C-126
    @Test func `a user name or a password above 255 bytes → an error`() throws {
        let longest = String(repeating: "x", count: ProxyCredentials.maxByteCount)
        #expect(try ProxyAddress("http://\(longest):\(longest)@proxy.example").credentials?.user.count == 255)
        #expect(throws: ProxyAddressError.invalidCredentials) { try ProxyAddress("http://\(longest)x@proxy.example") }
        #expect(throws: ProxyAddressError.invalidCredentials) { try ProxyAddress("http://u:\(longest)x@proxy.example") }
    }
}
