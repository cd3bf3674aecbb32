import Testing

@testable import MartletTransport

@Suite struct PathTableTests {
    private let running: UInt32 = 0x41
    private let loopback: UInt32 = 0x49

    private func table(_ messages: [NetlinkMessage]) -> PathTable {
        var table = PathTable()
        for message in messages { _ = table.apply(message) }
        return table
    }

    private func link(_ index: Int32, _ name: String, type: UInt16 = 1) -> NetlinkMessage {
        .link(index: index, name: name, type: type, flags: name == "lo" ? loopback : running)
    }

    private func address(_ index: Int32, _ text: String) throws -> NetlinkMessage {
        .address(interface: index, try #require(IPAddress(text)))
    }

    private func route(_ index: Int32, metric: UInt32 = 0, isIPv6: Bool = false) -> NetlinkMessage {
        .defaultRoute(NetlinkRoute(isIPv6: isIPv6, interface: index, metric: metric))
    }

    @Test func `recorded messages form a wired path`() throws {
        let datagrams = [RecordedNetlink.linkUp, RecordedNetlink.addressV4, RecordedNetlink.defaultRoute]
        let table = table(datagrams.flatMap { NetlinkMessage.parse($0) })
        let ip = try #require(IPAddress("192.0.2.7"))
        #expect(table.snapshot == PathSnapshot(isUp: true, kind: .wired, addresses: [ip], defaultInterface: "eth7"))
    }

    @Test func `empty table and loopback or link-local addresses form no path`() throws {
        #expect(PathTable().snapshot == .loopbackOnly)
        let messages = [
            link(1, "lo"), try address(1, "127.0.0.1"), try address(1, "::1"), link(2, "eth0"),
            try address(2, "fe80::1"), try address(2, "169.254.0.9"),
        ]
        #expect(table(messages).snapshot == .loopbackOnly)
    }

    @Test func `address without a default route forms a path without default interface`() throws {
        let snapshot = table([link(2, "eth0"), try address(2, "10.0.0.1")]).snapshot
        #expect(snapshot.isUp && snapshot.kind == .wired && snapshot.defaultInterface == nil)
    }

    @Test(arguments: [
        ("wlan0", 1, PathSnapshot.Kind.wifi), ("wlp3s0", 1, .wifi), ("eth0", 1, .wired), ("enp1s0", 1, .wired),
        ("wwan0", 1, .cellular), ("rmnet_data0", 519, .cellular), ("ppp0", 512, .cellular), ("tun0", 65534, .unknown),
    ])
    func `path has the kind of the default route's link`(_ name: String, _ type: Int, _ kind: PathSnapshot.Kind) {
        let messages = [link(9, "other0"), link(2, name, type: UInt16(type)), route(2)]
        #expect(table(messages).snapshot.kind == kind)
    }

    @Test func `default route is the lowest metric, IPv4 before IPv6, over a running link`() {
        let messages = [link(2, "eth0"), link(3, "wlan0"), route(2, metric: 600), route(3, metric: 100)]
        #expect(table(messages).snapshot.defaultInterface == "wlan0")
        let down = NetlinkMessage.link(index: 3, name: "wlan0", type: 1, flags: 0x1)
        #expect(table(messages + [down]).snapshot.defaultInterface == "eth0")
        #expect(table(messages + [route(2, isIPv6: true)]).snapshot.defaultInterface == "wlan0")
    }

    @Test func `every removal makes the table stale`() throws {
        var table = table([link(2, "eth0"), try address(2, "10.0.0.1"), route(2)])
        let ip = try #require(IPAddress("10.0.0.1"))
        let script: [(NetlinkMessage, isLoss: Bool)] = [
            (.link(index: 2, name: "eth0", type: 1, flags: running | 0x1000), false),
            (.link(index: 2, name: "eth0", type: 1, flags: 0), true),
            (.addressRemoved(interface: 2, ip), true),
            (.addressRemoved(interface: 2, ip), false),
            (.defaultRouteRemoved(NetlinkRoute(isIPv6: false, interface: 2, metric: 0)), true),
            (.linkRemoved(index: 2), true),
            (.linkRemoved(index: 2), false),
            (.outOfSync, true),
        ]
        for (message, isLoss) in script {
            let answer = table.apply(message)
            #expect(answer == isLoss, "\(message)")
        }
        #expect(table.snapshot == .loopbackOnly)
    }

    @Test func `tables stop growing at their bounds`() {
        var table = PathTable()
        for index in 0..<Int32(3000) {
            _ = table.apply(link(index, "eth\(index)"))
            _ = table.apply(route(index))
        }
        for number in 0..<UInt32(10_000) {
            _ = table.apply(.address(interface: 0, IPAddress(v4: 0x0A00_0000 + number)))
        }
        #expect(table.counts == [PathTable.maxLinkCount, PathTable.maxAddressCount, PathTable.maxRouteCount])
    }
}
