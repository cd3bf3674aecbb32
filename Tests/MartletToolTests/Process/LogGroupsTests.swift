import MartletLink
import MartletRelay
import MartletTelemetry
import MartletTransport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct LogGroupsTests {
    private var groups = LogGroups()
    private static let start = Instant(nanoseconds: 1_000_000_000)

    /// The lines that events cause, without the time.
    private mutating func lines(_ event: RelayEvent, at milliseconds: Int) -> [String] {
        let events = groups.add(event, now: Self.start + .milliseconds(milliseconds))
        return events.map { String(RelayLog.text(.init(event: $0, time: 0)).dropFirst(25)) }
    }

    // Specs/hostile.md row 106
    @Test mutating func `refusals of 3,000 accounts for 20 s → 3 lines for each of 1,024, and 3 for the others`() {
        var lineCount = 0
        for second in 0..<20 {
            for number in 0..<3_000 {
                let event = RelayEvent.note(.link(.refused(AccountName("a\(number)")!, .unauthenticated)), peer: nil)
                lineCount += lines(event, at: second * 1000).count
            }
        }
        lineCount += groups.finish().count
        #expect(lineCount == 3 * 1_025)
    }

    // Specs/hostile.md row 106
    @Test mutating func `faults of peers → the first at once, then one line with their number in 10 s`() {
        let fault = RelayEvent.note(.link(.faulted(.badMagic)), peer: SocketAddress("192.0.2.1:4711"))
        #expect(lines(fault, at: 0) == ["faulted badMagic peer=192.0.2.1:4711"])
        for _ in 0..<1_000 { #expect(lines(fault, at: 9_999) == []) }
        #expect(lines(fault, at: 10_000) == ["faulted badMagic peer=192.0.2.1:4711 count=1000"])
        #expect(groups.finish().count == 1)
        #expect(groups.finish().count == 0)
    }

    @Test mutating func `faults with pauses → each is written`() {
        let fault = RelayEvent.proxyRefused(nil)
        for second in [0, 10, 30] { #expect(lines(fault, at: second * 1000) == ["proxyRefused"]) }
    }

    @Test mutating func `other events → written at once`() throws {
        let lobby = RoomName("lobby")
        for _ in 0..<3 { #expect(lines(.revoked("ada"), at: 0).count == 1) }
        for _ in 0..<3 { #expect(lines(.diskSpaceChanged(.low, freeByteCount: 1), at: 0).count == 1) }
        for _ in 0..<3 { #expect(lines(.note(.roomCreated(Self.key, lobby, .none), peer: nil), at: 0).count == 1) }
    }

    private static let key = DeviceKey(account: "ada", device: DeviceID(rawValue: 1))

    // Specs/hostile.md row 106
    @Test func `each event that a peer can repeat → one line for 1,000 of them, and one for the rest`() {
        let lobby = RoomName("lobby")
        let peer = SocketAddress("192.0.2.1:4711")
        let error = CancellationError()
        let events: [RelayEvent] = [
            .note(.link(.faulted(.badMagic)), peer: peer), .tlsFailed(.notTLS, peer: peer), .proxyRefused(peer),
            .acceptingPaused(.timedOut), .authenticationRefused("ada", cause: "no"),
            .note(.rolesInvalid(lobby, .tooLong), peer: nil), .storeFailed(lobby, error), .storeRecovered,
            .membershipsFailed("ada", error), .authenticatorFailed("ada", error), .policyFailed(lobby, error),
            .undeliveredFailed(lobby, error), .note(.link(.refused("ada", .unauthenticated)), peer: peer),
            .note(.roomRefused(Self.key, lobby), peer: peer),
        ]
        for event in events {
            var groups = LogGroups()
            var count = 0
            for _ in 0..<1_000 { count += groups.add(event, now: Self.start).count }
            #expect(count == 1, "\(event)")
            #expect(groups.finish().count == 1)
        }
        for event in [InfluxExporter.Event.spoolFull, .spoolFailed("no"), .spoolRecovered] {
            var groups = LogGroups()
            var count = 0
            for _ in 0..<1_000 { count += groups.add(event, now: Self.start).count }
            #expect(count == 1 && groups.finish().count == 1)
        }
    }

    // Specs/hostile.md row 106
    @Test mutating func `points that the database refuses → the first line, then one with the sum in 10 s`() {
        func lines(_ events: [RelayLog.Event]) -> [String] {
            events.map { String(RelayLog.text(.init(event: $0, time: 0)).dropFirst(25)) }
        }
        func rejected(_ count: Int, _ second: Int, _ status: Int = 400) -> [String] {
            lines(groups.add(.rejected(count: count, status: status), now: Self.start + .seconds(second)))
        }
        #expect(rejected(3, 0) == ["telemetryRejected count=3 status=400"])
        #expect(rejected(4, 1) == [] && rejected(5, 9, 422) == [])
        #expect(rejected(1, 10) == ["telemetryRejected count=9 status=422"])
        #expect(lines(groups.add(.recovered, now: Self.start + .seconds(11))) == ["telemetryRecovered"])
        #expect(lines(groups.finish()) == ["telemetryRejected count=1 status=400"])
    }
}
