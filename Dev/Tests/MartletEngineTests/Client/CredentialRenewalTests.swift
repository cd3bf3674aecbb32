import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

@Suite struct CredentialRenewalTests {
    private let start = Instant(nanoseconds: 5_000_000_000)
    private let token = Credential("token")

    private func waiting(_ lifetime: Duration, random: UInt64 = 1 << 63) -> CredentialRenewal {
        var renewal = CredentialRenewal()
        renewal.begin(lifetime: lifetime, now: start, random: random)
        return renewal
    }

    // C-71
    @Test(arguments: [
        (Duration.seconds(100), UInt64(0), Duration.milliseconds(71_250)), (.seconds(100), 1 << 63, .seconds(75)),
        (.seconds(100), .max, .milliseconds(78_750)), (.seconds(3), 1 << 63, .seconds(2)),
        (.milliseconds(1500), 0, .seconds(1)), (.zero, 0, .seconds(1)),
    ])
    func `a lifetime -> the renewal begins at about 75 %, 1 s before the end, and after 1 s at the least`(
        lifetime: Duration, random: UInt64, wait: Duration
    ) throws {
        let deadline = try #require(waiting(lifetime, random: random).deadline)
        #expect((deadline - start - wait).nanoseconds.magnitude < 1_000_000)
    }

    // C-71
    @Test func `waiting, fetching, sent, and waiting again`() {
        var renewal = waiting(.seconds(100))
        let begin = start + .seconds(75)
        #expect(renewal.deadlinePassed(now: start + .seconds(74)) == false)
        #expect(!renewal.isFetching)
        #expect(renewal.deadlinePassed(now: begin) == true)
        #expect(renewal.isFetching)
        #expect(renewal.deadline == nil)
        #expect(renewal.deadlinePassed(now: begin) == false)
        #expect(renewal.received(token) == true)
        #expect(!renewal.isFetching)
        #expect(renewal.received(token) == false)
        #expect(renewal.answered(lifetime: .seconds(100), now: begin, random: 1 << 63) == true)
        #expect(renewal.deadline == begin + .seconds(75))
    }

    // C-71
    @Test func `no other credential -> the connection is left to end`() {
        var renewal = waiting(.seconds(100))
        _ = renewal.deadlinePassed(now: .distantFuture)
        #expect(renewal.received(nil) == false)
        #expect(renewal.received(token) == false)
        #expect(renewal.deadline == nil)
    }

    // C-71
    @Test func `an answer that is not due -> false in every other state`() {
        var idle = CredentialRenewal()
        #expect(idle.answered(lifetime: .seconds(1), now: start, random: 0) == false)
        var renewal = waiting(.seconds(100))
        #expect(renewal.answered(lifetime: nil, now: start, random: 0) == false)
        _ = renewal.deadlinePassed(now: .distantFuture)
        #expect(renewal.answered(lifetime: nil, now: start, random: 0) == false)
        #expect(renewal.received(token) == true)
        #expect(renewal.answered(lifetime: nil, now: start, random: 0) == true)
        #expect(renewal.deadline == nil)
        #expect(renewal.answered(lifetime: nil, now: start, random: 0) == false)
    }

    @Test func `the end of the connection ends each state`() {
        var renewal = waiting(.seconds(100))
        renewal.end()
        #expect(renewal.deadline == nil)
        renewal = waiting(.seconds(100))
        _ = renewal.deadlinePassed(now: .distantFuture)
        renewal.end()
        #expect(renewal.received(token) == false)
    }
}
