import MartletTransport
import Testing

/// The race in virtual time: milliseconds, so that scripts can be read.
@Suite struct ConnectionRaceTests {
    private let delay: UInt64 = 250
    private let end: UInt64 = 15_000

    private func address(_ number: UInt16) -> SocketAddress { SocketAddress(.loopbackV4, port: number) }

    private func endpoints(_ count: Int) -> [Endpoint] {
        (0..<count).compactMap { try? Endpoint(host: "host\($0)") }
    }

    private func race(_ addresses: [UInt16]) -> ConnectionRace {
        var race = ConnectionRace(endpoints: endpoints(1), attemptDelay: delay, deadline: end)
        race.resolved(endpoint: 0, addresses.map(address))
        return race
    }

    private func failure(_ endpoint: Int, _ number: UInt16?, _ error: TransportError) -> ConnectFailure {
        ConnectFailure(endpoint: endpoints(endpoint + 1)[endpoint], address: number.map(address), error: error)
    }

    // C-59
    @Test func `attempts start one delay apart while nobody answers`() {
        var race = race([1, 2, 3])
        #expect(race.nextOutput(now: 0) == .start(attempt: 0, address(1)))
        #expect(race.nextOutput(now: 0) == .wait(until: 250))
        #expect(race.nextOutput(now: 249) == .wait(until: 250))
        #expect(race.nextOutput(now: 250) == .start(attempt: 1, address(2)))
        #expect(race.nextOutput(now: 300) == .wait(until: 500))
        #expect(race.nextOutput(now: 500) == .start(attempt: 2, address(3)))
        #expect(race.nextOutput(now: 500) == .wait(until: end))
    }

    // C-59
    @Test func `the first that connects wins, the others are abandoned, and it is said once`() {
        var race = race([1, 2, 3])
        _ = race.nextOutput(now: 0)
        _ = race.nextOutput(now: 250)
        _ = race.nextOutput(now: 500)
        race.connected(attempt: 1)
        race.connected(attempt: 0)
        #expect(race.nextOutput(now: 510) == .abandon(attempt: 0))
        #expect(race.nextOutput(now: 510) == .abandon(attempt: 2))
        #expect(race.nextOutput(now: 510) == .finish(.won(attempt: 1)))
        #expect(race.nextOutput(now: 510) == .wait(until: nil))
        #expect(race.nextOutput(now: end) == .wait(until: nil))
    }

    // C-59
    @Test func `addresses that do not answer are tried again in turn, four attempts at a time`() {
        var race = ConnectionRace(endpoints: endpoints(1), attemptDelay: delay, repeatDelay: 1_000, deadline: end)
        race.resolved(endpoint: 0, [address(1), address(2)])
        #expect(race.nextOutput(now: 0) == .start(attempt: 0, address(1)))
        #expect(race.nextOutput(now: 250) == .start(attempt: 1, address(2)))
        #expect(race.nextOutput(now: 250) == .wait(until: 1_250))
        #expect(race.nextOutput(now: 1_250) == .start(attempt: 2, address(1)))
        #expect(race.nextOutput(now: 2_250) == .start(attempt: 3, address(2)))
        #expect(race.nextOutput(now: 2_250) == .wait(until: 3_250))
        #expect(race.nextOutput(now: 3_250) == .abandon(attempt: 0))
        #expect(race.nextOutput(now: 3_250) == .start(attempt: 4, address(1)))
        race.connected(attempt: 0)
        #expect(race.nextOutput(now: 3_250) == .wait(until: 4_250))
        race.connected(attempt: 3)
        #expect(race.nextOutput(now: 3_300) == .abandon(attempt: 1))
    }

    // C-59
    @Test func `an address that refused is not tried again`() {
        var race = ConnectionRace(endpoints: endpoints(1), attemptDelay: delay, repeatDelay: 1_000, deadline: end)
        race.resolved(endpoint: 0, [address(1), address(2)])
        _ = race.nextOutput(now: 0)
        race.failed(attempt: 0, .refused)
        #expect(race.nextOutput(now: 10) == .start(attempt: 1, address(2)))
        #expect(race.nextOutput(now: 1_010) == .start(attempt: 2, address(2)))
        race.failed(attempt: 1, .refused)
        race.failed(attempt: 2, .refused)
        guard case .finish(.lost) = race.nextOutput(now: 1_020) else { return #expect(Bool(false)) }
    }

    @Test func `the next attempt starts at once when one fails`() {
        var race = race([1, 2])
        _ = race.nextOutput(now: 0)
        race.failed(attempt: 0, .refused)
        #expect(race.nextOutput(now: 5) == .start(attempt: 1, address(2)))
        #expect(race.nextOutput(now: 5) == .wait(until: end))
    }

    @Test func `when all have failed the race is lost with every failure, in their order`() {
        var race = race([1, 2])
        _ = race.nextOutput(now: 0)
        _ = race.nextOutput(now: 250)
        race.failed(attempt: 1, .refused)
        #expect(race.nextOutput(now: 260) == .wait(until: end))
        race.failed(attempt: 0, .unreachable)
        #expect(
            race.nextOutput(now: 270)
                == .finish(.lost(.connectFailed([failure(0, 2, .refused), failure(0, 1, .unreachable)]))))
    }

    @Test func `at the deadline what runs has timed out`() {
        var race = race([1])
        _ = race.nextOutput(now: 0)
        #expect(race.nextOutput(now: end) == .abandon(attempt: 0))
        #expect(race.nextOutput(now: end) == .finish(.lost(.connectFailed([failure(0, 1, .timedOut)]))))
    }

    @Test func `a race whose names are never resolved times out`() {
        var race = ConnectionRace(endpoints: endpoints(1), attemptDelay: delay, deadline: end)
        #expect(race.nextOutput(now: 0) == .wait(until: end))
        #expect(race.nextOutput(now: end) == .finish(.lost(.timedOut)))
    }

    @Test func `cancelling abandons everything and is the answer`() {
        var race = race([1, 2])
        _ = race.nextOutput(now: 0)
        race.cancel()
        #expect(race.nextOutput(now: 1) == .abandon(attempt: 0))
        #expect(race.nextOutput(now: 1) == .finish(.lost(.cancelled)))
        race.connected(attempt: 0)
        #expect(race.nextOutput(now: 1) == .wait(until: nil))
    }

    @Test func `every endpoint's first address comes before any one's second`() {
        var race = ConnectionRace(endpoints: endpoints(2), attemptDelay: delay, deadline: end)
        race.resolved(endpoint: 0, [address(1), address(2)])
        race.resolved(endpoint: 1, [address(11), address(12)])
        let started = (0..<4).map { race.nextOutput(now: UInt64($0) * delay) }
        #expect(started == [1, 11, 2, 12].enumerated().map { .start(attempt: $0, address($1)) })
    }

    @Test func `a name that is resolved late does not hold up one that was early`() {
        var race = ConnectionRace(endpoints: endpoints(2), attemptDelay: delay, deadline: end)
        race.resolved(endpoint: 1, [address(11)])
        #expect(race.nextOutput(now: 3) == .start(attempt: 0, address(11)))
        race.failed(attempt: 0, .refused)
        #expect(race.nextOutput(now: 4) == .wait(until: end))
        race.resolutionFailed(endpoint: 0, .noAddresses)
        #expect(
            race.nextOutput(now: 5)
                == .finish(.lost(.connectFailed([failure(1, 11, .refused), failure(0, nil, .noAddresses)]))))
    }

    @Test func `without endpoints there are no addresses`() {
        var race = ConnectionRace(endpoints: [], attemptDelay: delay, deadline: end)
        #expect(race.nextOutput(now: 0) == .finish(.lost(.noAddresses)))
    }

    @Test func `candidates are bounded`() {
        var race = race(Array(1...1000))
        var started = 0
        while case .start(let attempt, _) = race.nextOutput(now: 0) {
            started += 1
            race.failed(attempt: attempt, .refused)
        }
        #expect(started == ConnectionRace.maxCandidateCount)
    }

    @Test func `answers that come after the end change nothing`() {
        var race = race([1])
        _ = race.nextOutput(now: 0)
        race.connected(attempt: 0)
        #expect(race.nextOutput(now: 1) == .finish(.won(attempt: 0)))
        race.failed(attempt: 0, .reset)
        race.resolutionFailed(endpoint: 0, .noAddresses)
        race.cancel()
        #expect(race.nextOutput(now: end) == .wait(until: nil))
    }
}
