import MartletTransport
import Testing

@testable import MartletLink

@Suite("Conversion of a path snapshot")
struct PathStatusSnapshotTests {
    private func status(_ interface: String, _ addresses: String...) throws -> PathStatus {
        let addresses = try addresses.map { try #require(IPAddress($0)) }
        return PathStatus(
            PathSnapshot(isUp: true, kind: .wifi, addresses: addresses, defaultInterface: interface))
    }

    @Test func `addresses with the same prefix have the same network ID`() throws {
        let here = try status("wlan0", "192.168.1.20", "2001:db8:1:2::5")
        #expect(try status("wlan0", "192.168.1.77", "2001:db8:1:2:aaaa::1").network == here.network)
        #expect(try status("wlan0", "192.168.2.20", "2001:db8:1:2::5").network != here.network)
        #expect(try status("wlan0", "192.168.1.20", "2001:db8:1:3::5").network != here.network)
        #expect(try status("eth0", "192.168.1.20", "2001:db8:1:2::5").network != here.network)
    }

    @Test func `the network ID of a snapshot is the same in each process`() throws {
        var hash = FNV1a()
        hash.add("a")
        // FNV-1a of "a" is af63dc4c8601ec8c; the zero byte after it is one more step.
        #expect(hash.value == (0xAF63_DC4C_8601_EC8C as UInt64) &* 0x0000_0100_0000_01B3)
    }

    @Test func `kind and addresses of a snapshot are converted`() throws {
        let here = try status("wlan0", "192.168.1.20")
        #expect(here.isUp)
        #expect(here.kind == .wifi)
        #expect(here.addresses == ["192.168.1.20"])
        #expect(PathStatus(.loopbackOnly).kind == .loopback)
        #expect(!PathStatus(.loopbackOnly).isUp)
    }

    @Test(arguments: [
        ("10.1.2.3", "10.1.2"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2"), ("2001:db8::1", "2001:db8:0:0"),
        ("fd00::", "fd00:0:0:0"),
    ])
    func `an address is reduced to its network prefix`(address: String, prefix: String) throws {
        #expect(try #require(IPAddress(address)).networkPrefix == prefix)
    }
}
