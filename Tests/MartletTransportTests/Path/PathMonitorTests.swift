import Glibc
import Testing

@testable import MartletTransport

@Suite(.timeLimit(.minutes(10)))
struct PathMonitorTests {
    @Test(arguments: EventLoop.Backend.allCases)
    func `monitor reports the current path first and nothing after stop`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let snapshots = Events<PathSnapshot>()
            let monitor = await loop.run { PathMonitor(on: loop) { snapshots.send($0) } }
            try await loop.run { Result { () throws(TransportError) in try monitor.start() } }.get()
            let first = try #require(await snapshots.next())
            #expect(await loop.run { monitor.current } == first)
            #expect(first.isUp == (first.kind != .loopbackOnly))
            await loop.run { monitor.stop() }
            #expect(await loop.run { monitor.current } == nil)
        }
    }

    /// The loop's thread moves to a network namespace of its own, in which the test creates links.
    @Test func `monitor reports added and removed links, addresses and routes`() async throws {
        let loop = try EventLoop(name: "network")
        guard await loop.run({ enterNewNetwork() && ip("link set lo up") }) else {
            await loop.shutdown()
            try Test.cancel("making a network namespace takes privileges, and iproute2")
        }
        let snapshots = Events<PathSnapshot>()
        let monitor = await loop.run { PathMonitor(on: loop) { snapshots.send($0) } }
        try await loop.run { Result { () throws(TransportError) in try monitor.start() } }.get()
        #expect(await snapshots.next() == .loopbackOnly)

        guard await loop.run({ ip("link add eth7 type veth peer name eth8") }) else {
            await loop.shutdown()
            try Test.cancel("this kernel makes no veth links")
        }
        let v4 = try #require(IPAddress("192.0.2.7"))
        let local = PathSnapshot(isUp: true, kind: .wired, addresses: [v4])
        let routed = PathSnapshot(isUp: true, kind: .wired, addresses: [v4], defaultInterface: "eth7")
        _ = await loop.run { ip("link set eth8 up") && ip("addr add 192.0.2.7/24 dev eth7") && ip("link set eth7 up") }
        #expect(await snapshots.next() == local)
        _ = await loop.run { ip("route add default via 192.0.2.1") }
        #expect(await snapshots.next() == routed)
        _ = await loop.run { ip("link set eth7 down") }
        #expect(await snapshots.next() == .loopbackOnly)
        // The kernel removed the route with the link without a message.
        _ = await loop.run { ip("link set eth7 up") }
        #expect(await snapshots.next() == local)
        _ = await loop.run { ip("link del eth7") }
        #expect(await snapshots.next() == .loopbackOnly)
        await loop.shutdown()
    }
}

/// Moves the calling thread to a new network namespace. Swift's Glibc module does not import `unshare`.
private func enterNewNetwork() -> Bool {
    guard let symbol = unsafe dlsym(nil, "unshare") else { return false }
    let unshare = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
    // CLONE_NEWNET
    return unshare(0x4000_0000) == 0
}

/// Runs iproute2 in the network namespace of the calling thread.
private func ip(_ arguments: String) -> Bool {
    let words = ["ip"] + arguments.split(separator: " ").map(String.init)
    var pid: pid_t = 0
    var status: Int32 = -1
    var argv: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe argv.forEach { unsafe free($0) } }
    guard unsafe posix_spawnp(&pid, "ip", nil, nil, &argv, environ) == 0 else { return false }
    unsafe waitpid(pid, &status, 0)
    return status == 0
}
