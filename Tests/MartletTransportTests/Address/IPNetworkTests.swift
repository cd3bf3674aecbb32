import Testing

@testable import MartletTransport

@Suite struct IPNetworkTests {
    @Test(
        arguments: [
            ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.6", false), ("192.0.2.0/24", "192.0.2.255", true),
            ("192.0.2.0/24", "192.0.3.0", false), ("0.0.0.0/0", "255.255.255.255", true), ("0.0.0.0/0", "::1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::", false),
            ("2001:db8::/65", "2001:db8::7fff:0:0:1", true), ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
            ("2001:db8::1", "2001:db8::1", true), ("2001:db8::1", "2001:db8::2", false), ("::/0", "fe80::1", true),
        ]) func `a network → contains the addresses with the same first bits`(
            _ network: String, _ address: String, _ contains: Bool
        ) throws
    {
        let network = try #require(IPNetwork(network))
        #expect(network.contains(try #require(IPAddress(address))) == contains)
        #expect(IPNetwork(network.description) == network)
    }

    @Test(arguments: ["", "/8", "host", "192.0.2.0/33", "192.0.2.0/", "192.0.2.0/-1", "192.0.2.0/8/8", "::/129", "1/8"])
    func `other texts → nil`(_ text: String) {
        #expect(IPNetwork(text) == nil)
    }
}
