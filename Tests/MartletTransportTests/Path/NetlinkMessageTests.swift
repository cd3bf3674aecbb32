import Testing

@testable import MartletTransport

@Suite struct NetlinkMessageTests {
    @Test func `recorded messages parse to links, addresses and default routes`() throws {
        // IFF_UP, IFF_BROADCAST, IFF_RUNNING, IFF_MULTICAST, IFF_LOWER_UP; ARPHRD_ETHER.
        #expect(
            NetlinkMessage.parse(RecordedNetlink.linkUp) == [.link(index: 3, name: "eth7", type: 1, flags: 0x11043)])
        let v4 = try #require(IPAddress("192.0.2.7"))
        let v6 = try #require(IPAddress("2001:db8::7"))
        #expect(NetlinkMessage.parse(RecordedNetlink.addressV4) == [.address(interface: 3, v4)])
        #expect(NetlinkMessage.parse(RecordedNetlink.addressV6) == [.address(interface: 3, v6)])
        let route = NetlinkRoute(isIPv6: false, interface: 3, metric: 100)
        #expect(NetlinkMessage.parse(RecordedNetlink.defaultRoute) == [.defaultRoute(route)])
        #expect(NetlinkMessage.parse(RecordedNetlink.addressRemoved) == [.addressRemoved(interface: 3, v4)])
        #expect(NetlinkMessage.parse(RecordedNetlink.linkRemoved) == [.linkRemoved(index: 3)])
        #expect(NetlinkMessage.parse(RecordedNetlink.done) == [.done(sequence: 1, isConsistent: true)])
    }

    @Test func `datagram with several messages parses to the relevant ones`() throws {
        let addresses = NetlinkMessage.parse(RecordedNetlink.addressDump)
        #expect(addresses.count == 6)
        #expect(addresses.contains(.address(interface: 1, .loopbackV4)))
        #expect(addresses.contains(.address(interface: 3, try #require(IPAddress("192.0.2.7")))))
        let route = NetlinkRoute(isIPv6: false, interface: 3, metric: 100)
        #expect(NetlinkMessage.parse(RecordedNetlink.routeDump) == [.defaultRoute(route)])
    }

    @Test func `tentative address parses to a removal`() throws {
        var bytes = RecordedNetlink.addressV6
        // ifa_flags and IFA_FLAGS; the latter takes precedence.
        bytes[18] |= 0x40
        let flags = try #require(bytes.firstRange(of: [8, 0, 8, 0]))
        bytes[flags.upperBound] |= 0x40
        #expect(NetlinkMessage.parse(bytes) == [.addressRemoved(interface: 3, try #require(IPAddress("2001:db8::7")))])
    }

    @Test func `interrupted dump, error and overrun parse to inconsistent and out of sync`() {
        var interrupted = RecordedNetlink.done
        interrupted[6] |= 0x10
        #expect(NetlinkMessage.parse(interrupted) == [.done(sequence: 1, isConsistent: false)])
        let error: [UInt8] = [20, 0, 0, 0, 2, 0, 0, 0] + [UInt8](repeating: 0, count: 8) + [0xF0, 0xFF, 0xFF, 0xFF]
        #expect(NetlinkMessage.parse(error) == [.outOfSync])
        let acknowledgement = error.prefix(16) + [0, 0, 0, 0]
        #expect(NetlinkMessage.parse(Array(acknowledgement)) == [])
        let overrun: [UInt8] = [16, 0, 0, 0, 4, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
        #expect(NetlinkMessage.parse(overrun) == [.outOfSync])
    }

    @Test(arguments: [RecordedNetlink.linkUp, RecordedNetlink.addressDump, RecordedNetlink.routeDump])
    func `datagram truncated anywhere parses to out of sync`(_ datagram: [UInt8]) {
        let whole = NetlinkMessage.parse(datagram)
        for length in 1..<datagram.count {
            let messages = NetlinkMessage.parse(Array(datagram.prefix(length)))
            let isWhole = messages == Array(whole.prefix(messages.count))
            #expect(isWhole || messages.last == .outOfSync)
        }
    }

    @Test func `datagram with any byte changed parses without a trap`() {
        for datagram in [RecordedNetlink.addressV4, RecordedNetlink.defaultRoute, RecordedNetlink.done] {
            for index in datagram.indices {
                for value in [0, 1, 3, 4, 0x7F, 0xFF] as [UInt8] {
                    var changed = datagram
                    changed[index] = value
                    #expect(NetlinkMessage.parse(changed).count <= 2)
                }
            }
        }
    }
}
