import Testing

@testable import MartletLink

/// Scripts of a race in virtual time.
@Suite("The race of routes")
struct RouteRaceTests {
    private static let deadline = Instant.zero + .seconds(14)

    /// A race and its time.
    private struct Script {
        var race: RouteRace
        var now = Instant.zero

        init(_ timeouts: Duration?..., postponedCount: Int = 0) {
            race = RouteRace(
                timeouts: timeouts, postponedCount: postponedCount, deadline: RouteRaceTests.deadline)
        }

        /// The actions until the race waits, the wait included.
        mutating func outputs() -> [RouteRace.Output] {
            var outputs: [RouteRace.Output] = []
            while true {
                outputs.append(race.nextOutput(now: now))
                if case .wait = outputs.last { return outputs }
            }
        }

        mutating func outputs(at time: Duration) -> [RouteRace.Output] {
            now = .zero + time
            return outputs()
        }
    }

    // C-127
    @Test func `a first route that is connected within the delay → no other one starts`() {
        var script = Script(nil, .seconds(5))
        #expect(script.outputs() == [.start(0), .wait(until: .zero + RouteRace.delay)])
        script.now = Instant.zero + (RouteRace.delay - .milliseconds(1))
        script.race.connected(0)
        #expect(script.outputs() == [.finish(0), .wait(until: nil)])
    }

    // C-127
    @Test func `a silent first route → the others start after the delay, and the first to answer wins`() {
        var script = Script(nil, .seconds(5), nil)
        _ = script.outputs()
        #expect(script.outputs(at: .milliseconds(750)) == [.start(1), .wait(until: .zero + .milliseconds(1500))])
        #expect(script.outputs(at: .milliseconds(1500)) == [.start(2), .wait(until: .zero + .milliseconds(5750))])
        script.race.connected(1)
        #expect(script.outputs() == [.abandon(0), .abandon(2), .finish(1), .wait(until: nil)])
        script.race.connected(2)
        script.race.failed(0)
        #expect(script.outputs() == [.wait(until: nil)])
    }

    // C-127
    @Test func `a failure → the next route starts at once, and the last one ends the race`() {
        var script = Script(nil, nil)
        _ = script.outputs()
        script.race.failed(0)
        #expect(script.outputs() == [.start(1), .wait(until: Self.deadline)])
        script.race.failed(1)
        #expect(script.outputs() == [.finish(nil), .wait(until: nil)])
    }

    // C-127
    @Test func `a failure that is not one of the network → no other route`() {
        var script = Script(nil, nil)
        _ = script.outputs()
        script.race.failed(0, endsRace: true)
        #expect(script.outputs() == [.finish(nil), .wait(until: nil)])
    }

    // C-127
    @Test func `a route beyond its own time, and the deadline → they end as timed out`() {
        var script = Script(.seconds(5), nil)
        _ = script.outputs()
        _ = script.outputs(at: .milliseconds(750))
        #expect(script.outputs(at: .seconds(5)) == [.abandon(0), .wait(until: Self.deadline)])
        #expect(script.race.takeTimedOut() == [0])
        #expect(script.outputs(at: .seconds(14)) == [.abandon(1), .finish(nil), .wait(until: nil)])
        #expect(script.race.takeTimedOut() == [1])
    }

    // C-127
    @Test func `a postponed route → it starts when the time of the others is over, and at once after their failure`() {
        var script = Script(.seconds(5), .seconds(5), nil, nil, postponedCount: 2)
        #expect(script.outputs() == [.start(0), .wait(until: .zero + RouteRace.delay)])
        #expect(script.outputs(at: .milliseconds(750)) == [.start(1), .wait(until: .zero + .seconds(5))])
        script.now = .zero + .seconds(5)
        #expect(script.outputs() == [.abandon(0), .wait(until: .zero + .milliseconds(5750))])
        script.race.failed(1)
        #expect(script.outputs() == [.start(2), .wait(until: .zero + .milliseconds(5750))])
        #expect(script.outputs(at: .milliseconds(5750)) == [.start(3), .wait(until: Self.deadline)])
        script.race.connected(3)
        #expect(script.outputs() == [.abandon(2), .finish(3), .wait(until: nil)])
    }

    @Test func `a cancelled race → all attempts are abandoned`() {
        var script = Script(nil, nil)
        _ = script.outputs()
        _ = script.outputs(at: .seconds(1))
        script.race.cancel()
        #expect(script.outputs() == [.abandon(0), .abandon(1), .finish(nil), .wait(until: nil)])
        #expect(script.race.takeTimedOut() == [])
    }

    @Test func `a race of one route without a deadline → it waits for the result only`() {
        var race = RouteRace(timeouts: [nil], deadline: nil)
        #expect(race.nextOutput(now: .zero) == .start(0))
        #expect(race.nextOutput(now: .zero) == .wait(until: nil))
    }
}
