import MartletLink
import MartletRelay
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
        for _ in 0..<3 { #expect(lines(.undeliveredFailed(lobby, CancellationError()), at: 0).count == 1) }
        for _ in 0..<3 { #expect(lines(.storeRecovered, at: 0) == ["storeRecovered"]) }
    }
}
