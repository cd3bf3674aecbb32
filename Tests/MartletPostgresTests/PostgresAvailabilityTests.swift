import MartletLink
import Testing

@testable import MartletPostgres

@Suite struct PostgresAvailabilityTests {
    private func at(_ seconds: UInt64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func `failures and an answer → lost once, and recovered with the duration`() {
        var availability = PostgresAvailability(maxWait: .seconds(60))
        #expect(availability.answered(isWriter: true, now: at(1)) == nil)
        #expect(availability.failed(isWriter: true, now: at(2)) == [.lost])
        #expect(availability.failed(isWriter: true, now: at(30)) == [] && !availability.refuses(now: at(30)))
        #expect(availability.answered(isWriter: true, now: at(32)) == .recovered(after: .seconds(30)))
        #expect(availability.failed(isWriter: true, now: at(99)) == [.lost])
    }

    @Test func `the connection that writes fails → answers to reads are no recovery until it answers or has returned`()
    {
        var availability = PostgresAvailability(maxWait: .seconds(60))
        #expect(availability.failed(isWriter: true, now: at(1)) == [.lost])
        #expect(availability.answered(isWriter: false, now: at(2)) == nil)
        #expect(availability.failed(isWriter: false, now: at(3)) == [])
        var returned = availability
        #expect(availability.answered(isWriter: true, now: at(4)) == .recovered(after: .seconds(3)))
        returned.writerReturned()
        #expect(returned.answered(isWriter: false, now: at(5)) == .recovered(after: .seconds(4)))
    }

    @Test func `a connection that reads fails → an answer to a read is the recovery`() {
        var availability = PostgresAvailability(maxWait: .seconds(60))
        #expect(availability.failed(isWriter: false, now: at(1)) == [.lost])
        #expect(availability.answered(isWriter: false, now: at(2)) == .recovered(after: .seconds(1)))
    }

    @Test func `away for the longest duration → waiting and new calls fail until an answer`() {
        var availability = PostgresAvailability(maxWait: .seconds(60))
        #expect(availability.failed(isWriter: true, now: at(0)) == [.lost])
        #expect(availability.failed(isWriter: true, now: at(60)) == [.abandon] && availability.refuses(now: at(61)))
        #expect(availability.answered(isWriter: true, now: at(62)) == .recovered(after: .seconds(62)))
        #expect(!availability.refuses(now: at(62)))
    }

    @Test func `a relay that ends → calls fail while the database is away only`() {
        var availability = PostgresAvailability(maxWait: .seconds(60))
        availability.isEnding = true
        #expect(!availability.refuses(now: at(0)))
        #expect(availability.failed(isWriter: true, now: at(0)) == [.lost, .abandon])
    }
}
