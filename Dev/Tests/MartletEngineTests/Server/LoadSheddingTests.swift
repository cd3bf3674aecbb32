import Testing

@testable import MartletLink
@testable import MartletRelay

//
@Suite struct LoadSheddingTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private func refuses(_ load: LoadShedding, connections: Int = 1, isMemoryShort: Bool = false, at now: Instant)
        -> Bool
    {
        load.refusesLink(connectionCount: connections, isMemoryShort: isMemoryShort, now: now)
    }

    /// Turns of these durations in milliseconds, one after another. Returns the end of the last one.
    private func run(_ durations: [Int], _ load: inout LoadShedding) -> Instant {
        var now = Self.start
        for duration in durations {
            let begun = now
            now = now + .milliseconds(duration)
            load.turnEnded(begunAt: begun, now: now)
        }
        return now
    }

    @Test(arguments: [(1, 1), (15, 15), (16, 15), (1600, 1500)])
    func `connections beyond fifteen sixteenths of the maximum refuse new links`(_ most: Int, _ served: Int) {
        let load = LoadShedding(maxConnections: most)
        #expect(!refuses(load, connections: served, at: Self.start))
        #expect(refuses(load, connections: served + 1, at: Self.start))
    }

    @Test func `short memory refuses new links`() {
        let load = LoadShedding(maxConnections: 100)
        #expect(refuses(load, isMemoryShort: true, at: Self.start))
        #expect(!refuses(load, isMemoryShort: false, at: Self.start))
    }

    @Test func `four consecutive long turns refuse new links until a second after the last one`() {
        var load = LoadShedding(maxConnections: 100)
        let end = run([501, 501, 501, 501], &load)
        #expect(refuses(load, at: end) && refuses(load, at: end + .milliseconds(999)))
        #expect(!refuses(load, at: end + .milliseconds(1000)))
    }

    @Test(arguments: [[501, 501, 501], [500, 500, 500, 500, 500], [501, 501, 501, 500, 501], [9000]])
    func `fewer consecutive long turns, and turns of the maximum, refuse nothing`(_ durations: [Int]) {
        var load = LoadShedding(maxConnections: 100)
        let end = run(durations, &load)
        #expect(!refuses(load, at: end))
    }

    @Test func `a turn that ends several times counts once`() {
        var load = LoadShedding(maxConnections: 100)
        for milliseconds in [100, 501, 502, 503, 504] {
            load.turnEnded(begunAt: Self.start, now: Self.start + .milliseconds(milliseconds))
        }
        #expect(!refuses(load, at: Self.start + .milliseconds(504)))
    }
}
