import MartletTransport
import Testing

/// Happy Eyeballs in virtual time, whose unit here is a millisecond.
@Suite struct HappyEyeballsTests {
    private let delay: UInt64 = 250
    private let end: UInt64 = 15_000

    private func address(_ number: UInt16) -> SocketAddress { SocketAddress(.loopbackV4, port: number) }

    private func endpoints(_ count: Int) -> [Endpoint] {
        (0..<count).compactMap { try? Endpoint(host: "host\($0)") }
    }

    private func machine(_ addresses: [UInt16]) -> HappyEyeballs {
        var machine = HappyEyeballs(endpoints: endpoints(1), attemptDelay: delay, deadline: end)
        machine.resolved(endpoint: 0, addresses.map(address))
        return machine
    }

    private func failure(_ endpoint: Int, _ number: UInt16?, _ error: TransportError) -> ConnectFailure {
        ConnectFailure(endpoint: endpoints(endpoint + 1)[endpoint], address: number.map(address), error: error)
    }

    // C-59
    @Test func `silent addresses are tried one delay apart`() {
        var machine = machine([1, 2, 3])
        #expect(machine.nextOutput(now: 0) == .start(attempt: 0, address(1)))
        #expect(machine.nextOutput(now: 0) == .wait(until: 250))
        #expect(machine.nextOutput(now: 249) == .wait(until: 250))
        #expect(machine.nextOutput(now: 250) == .start(attempt: 1, address(2)))
        #expect(machine.nextOutput(now: 300) == .wait(until: 500))
        #expect(machine.nextOutput(now: 500) == .start(attempt: 2, address(3)))
        #expect(machine.nextOutput(now: 500) == .wait(until: end))
    }

    // C-59
    @Test func `first connected attempt ends the connect once and abandons the others`() {
        var machine = machine([1, 2, 3])
        _ = machine.nextOutput(now: 0)
        _ = machine.nextOutput(now: 250)
        _ = machine.nextOutput(now: 500)
        machine.connected(attempt: 1)
        machine.connected(attempt: 0)
        #expect(machine.nextOutput(now: 510) == .abandon(attempt: 0))
        #expect(machine.nextOutput(now: 510) == .abandon(attempt: 2))
        #expect(machine.nextOutput(now: 510) == .finish(.connected(attempt: 1)))
        #expect(machine.nextOutput(now: 510) == .wait(until: nil))
        #expect(machine.nextOutput(now: end) == .wait(until: nil))
    }

    // C-59
    @Test func `silent addresses are tried again in turn with four concurrent attempts`() {
        var machine = HappyEyeballs(endpoints: endpoints(1), attemptDelay: delay, repeatDelay: 1_000, deadline: end)
        machine.resolved(endpoint: 0, [address(1), address(2)])
        #expect(machine.nextOutput(now: 0) == .start(attempt: 0, address(1)))
        #expect(machine.nextOutput(now: 250) == .start(attempt: 1, address(2)))
        #expect(machine.nextOutput(now: 250) == .wait(until: 1_250))
        #expect(machine.nextOutput(now: 1_250) == .start(attempt: 2, address(1)))
        #expect(machine.nextOutput(now: 2_250) == .start(attempt: 3, address(2)))
        #expect(machine.nextOutput(now: 2_250) == .wait(until: 3_250))
        #expect(machine.nextOutput(now: 3_250) == .abandon(attempt: 0))
        #expect(machine.nextOutput(now: 3_250) == .start(attempt: 4, address(1)))
        machine.connected(attempt: 0)
        #expect(machine.nextOutput(now: 3_250) == .wait(until: 4_250))
        machine.connected(attempt: 3)
        #expect(machine.nextOutput(now: 3_300) == .abandon(attempt: 1))
    }

    // C-59
    @Test func `address that refused is not tried again`() {
        var machine = HappyEyeballs(endpoints: endpoints(1), attemptDelay: delay, repeatDelay: 1_000, deadline: end)
        machine.resolved(endpoint: 0, [address(1), address(2)])
        _ = machine.nextOutput(now: 0)
        machine.failed(attempt: 0, .refused)
        #expect(machine.nextOutput(now: 10) == .start(attempt: 1, address(2)))
        #expect(machine.nextOutput(now: 1_010) == .start(attempt: 2, address(2)))
        machine.failed(attempt: 1, .refused)
        machine.failed(attempt: 2, .refused)
        guard case .finish(.failed) = machine.nextOutput(now: 1_020) else { return #expect(Bool(false)) }
    }

    @Test func `failed attempt starts the next at once`() {
        var machine = machine([1, 2])
        _ = machine.nextOutput(now: 0)
        machine.failed(attempt: 0, .refused)
        #expect(machine.nextOutput(now: 5) == .start(attempt: 1, address(2)))
        #expect(machine.nextOutput(now: 5) == .wait(until: end))
    }

    @Test func `failure of all attempts fails the connect with every failure in order`() {
        var machine = machine([1, 2])
        _ = machine.nextOutput(now: 0)
        _ = machine.nextOutput(now: 250)
        machine.failed(attempt: 1, .refused)
        #expect(machine.nextOutput(now: 260) == .wait(until: end))
        machine.failed(attempt: 0, .unreachable)
        #expect(
            machine.nextOutput(now: 270)
                == .finish(.failed(.connectFailed([failure(0, 2, .refused), failure(0, 1, .unreachable)]))))
    }

    @Test func `deadline fails the running attempts as timed out`() {
        var machine = machine([1])
        _ = machine.nextOutput(now: 0)
        #expect(machine.nextOutput(now: end) == .abandon(attempt: 0))
        #expect(machine.nextOutput(now: end) == .finish(.failed(.connectFailed([failure(0, 1, .timedOut)]))))
    }

    @Test func `unresolved names fail the connect at the deadline as timed out`() {
        var machine = HappyEyeballs(endpoints: endpoints(1), attemptDelay: delay, deadline: end)
        #expect(machine.nextOutput(now: 0) == .wait(until: end))
        #expect(machine.nextOutput(now: end) == .finish(.failed(.timedOut)))
    }

    @Test func `cancellation abandons all attempts and fails as cancelled`() {
        var machine = machine([1, 2])
        _ = machine.nextOutput(now: 0)
        machine.cancel()
        #expect(machine.nextOutput(now: 1) == .abandon(attempt: 0))
        #expect(machine.nextOutput(now: 1) == .finish(.failed(.cancelled)))
        machine.connected(attempt: 0)
        #expect(machine.nextOutput(now: 1) == .wait(until: nil))
    }

    @Test func `first address of every endpoint precedes second addresses`() {
        var machine = HappyEyeballs(endpoints: endpoints(2), attemptDelay: delay, deadline: end)
        machine.resolved(endpoint: 0, [address(1), address(2)])
        machine.resolved(endpoint: 1, [address(11), address(12)])
        let started = (0..<4).map { machine.nextOutput(now: UInt64($0) * delay) }
        #expect(started == [1, 11, 2, 12].enumerated().map { .start(attempt: $0, address($1)) })
    }

    @Test func `late name resolution does not delay other endpoints`() {
        var machine = HappyEyeballs(endpoints: endpoints(2), attemptDelay: delay, deadline: end)
        machine.resolved(endpoint: 1, [address(11)])
        #expect(machine.nextOutput(now: 3) == .start(attempt: 0, address(11)))
        machine.failed(attempt: 0, .refused)
        #expect(machine.nextOutput(now: 4) == .wait(until: end))
        machine.resolutionFailed(endpoint: 0, .noAddresses)
        #expect(
            machine.nextOutput(now: 5)
                == .finish(.failed(.connectFailed([failure(1, 11, .refused), failure(0, nil, .noAddresses)]))))
    }

    @Test func `connect without endpoints fails as noAddresses`() {
        var machine = HappyEyeballs(endpoints: [], attemptDelay: delay, deadline: end)
        #expect(machine.nextOutput(now: 0) == .finish(.failed(.noAddresses)))
    }

    @Test func `addresses beyond the bound are ignored`() {
        var machine = machine(Array(1...1000))
        var started = 0
        while case .start(let attempt, _) = machine.nextOutput(now: 0) {
            started += 1
            machine.failed(attempt: attempt, .refused)
        }
        #expect(started == HappyEyeballs.maxCandidateCount)
    }

    @Test func `events after the end cause no output`() {
        var machine = machine([1])
        _ = machine.nextOutput(now: 0)
        machine.connected(attempt: 0)
        #expect(machine.nextOutput(now: 1) == .finish(.connected(attempt: 0)))
        machine.failed(attempt: 0, .reset)
        machine.resolutionFailed(endpoint: 0, .noAddresses)
        machine.cancel()
        #expect(machine.nextOutput(now: end) == .wait(until: nil))
    }
}
