import MartletLink
import Testing

@Suite struct PathChangeTests {
    private let home = PathStatus(
        isUp: true, kind: .wifi, network: NetworkID(rawValue: 1), addresses: ["192.0.2.7", "2001:db8::7"])
    private let mobile = PathStatus(
        isUp: true, kind: .cellular, network: NetworkID(rawValue: 2), addresses: ["198.51.100.9"])

    // C-54
    @Test func `a path without the connection's address → replace`() {
        #expect(PathChange(from: home, to: mobile, localAddress: "192.0.2.7") == .replace)
        var renumbered = home
        renumbered.addresses = ["192.0.2.8"]
        #expect(PathChange(from: home, to: renumbered, localAddress: "192.0.2.7") == .replace)
        #expect(PathChange(from: .down, to: mobile, localAddress: "192.0.2.7") == .replace)
    }

    @Test func `a better path beside the connection's → probe`() {
        var both = home
        both.addresses.formUnion(mobile.addresses)
        #expect(PathChange(from: mobile, to: both, localAddress: "198.51.100.9") == .probe)
    }

    // C-54
    @Test func `the same network after no path → probe`() {
        #expect(PathChange(from: .down, to: home, localAddress: "192.0.2.7") == .probe)
    }

    @Test func `another network of the same kind with the same address → probe`() {
        var neighbour = home
        neighbour.network = NetworkID(rawValue: 3)
        #expect(PathChange(from: home, to: neighbour, localAddress: "192.0.2.7") == .probe)
    }

    @Test func `the same network over another kind of path → probe`() {
        var cabled = home
        cabled.kind = .wired
        #expect(PathChange(from: home, to: cabled, localAddress: "192.0.2.7") == .probe)
    }

    @Test func `a change of network with an unknown local address → probe`() {
        #expect(PathChange(from: home, to: mobile, localAddress: nil) == .probe)
    }

    @Test func `no path → pause, once`() {
        #expect(PathChange(from: home, to: .down, localAddress: "192.0.2.7") == .pause)
        #expect(PathChange(from: .down, to: .down, localAddress: "192.0.2.7") == .none)
    }

    @Test func `added and removed addresses other than the connection's → no change`() {
        var more = home
        more.addresses.insert("2001:db8::8")
        #expect(PathChange(from: home, to: more, localAddress: "192.0.2.7") == .none)
        #expect(PathChange(from: more, to: home, localAddress: "192.0.2.7") == .none)
    }
}
