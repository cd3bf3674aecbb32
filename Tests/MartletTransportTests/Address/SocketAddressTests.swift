import Testing

@testable import MartletTransport

@Suite struct SocketAddressTests {
    @Test(arguments: ["0.0.0.0:0", "127.0.0.1:80", "255.255.255.255:65535", "[::1]:80", "[2001:db8::1]:7227"])
    func `numeric address prints as it was parsed`(_ text: String) throws {
        #expect(try #require(SocketAddress(text)).description == text)
    }

    @Test(arguments: [
        "", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:-1", "127.1:80", "::1:80", "[127.0.0.1]:80", "host:80",
    ])
    func `other text does not parse`(_ text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test func `loopback, link-local and unspecified addresses are recognized`() throws {
        #expect(IPAddress("127.9.9.9")?.isLoopback == true)
        #expect(IPAddress("::1")?.isLoopback == true)
        #expect(IPAddress("128.0.0.1")?.isLoopback == false)
        #expect(IPAddress("169.254.1.1")?.isLinkLocal == true)
        #expect(IPAddress("fe80::1")?.isLinkLocal == true)
        #expect(IPAddress("febf::1")?.isLinkLocal == true)
        #expect(IPAddress("fec0::1")?.isLinkLocal == false)
        #expect(IPAddress.anyV4.isUnspecified && IPAddress.anyV6.isUnspecified)
        #expect(IPAddress.anyV4 != .anyV6)
    }

    @Test func `bytes are in network byte order`() {
        #expect(IPAddress(v4: 0x0102_0304).bytes == [1, 2, 3, 4])
        #expect(IPAddress.loopbackV6.bytes == [UInt8](repeating: 0, count: 15) + [1])
    }

    @Test func `families alternate from the first address's family without duplicates`() {
        let numbers = ["::1", "::2", "::2", "1.1.1.1", "::3", "2.2.2.2"].compactMap { IPAddress($0) }
        let ordered = interleaveFamilies(numbers.map { SocketAddress($0, port: 1) }).map(\.ip.description)
        #expect(ordered == ["::1", "1.1.1.1", "::2", "2.2.2.2", "::3"])
        #expect(interleaveFamilies([]).isEmpty)
    }
}
