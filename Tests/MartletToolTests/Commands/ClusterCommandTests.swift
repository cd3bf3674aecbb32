import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct ClusterCommandTests {
    private func relay(_ name: String, isDraining: Bool = false, clock: UInt64, heardAt: UInt64?) -> PeerRelay {
        PeerRelay(
            relay: RelayID(rawValue: 255), name: name, agent: "a/1", linkCount: 3, roomCount: 2, isDraining: isDraining,
            relayClock: clock, lastHeardAt: heardAt)
    }

    @Test func `relays of a bus -> a line for each, with its state by the clock of the first one`() {
        let relays = [
            relay("one", clock: 10_000, heardAt: nil), relay("two", isDraining: true, clock: 9_500, heardAt: 9_400),
            relay("three\n", clock: 1, heardAt: 7_000),
        ]
        #expect(
            ClusterCommand.lines(of: relays, isJSON: false) == [
                "one  serves  links 3  rooms 2  a/1",
                "two  drains  links 3  rooms 2  a/1  clock 100  heard 600",
                "three⏎  away  links 3  rooms 2  a/1  clock -6999  heard 3000",
            ])
        #expect(
            ClusterCommand.lines(of: relays, isJSON: true)[1]
                == #"{"name":"two","state":"drains","links":3,"rooms":2,"agent":"a/1","relay":"ff","clockAhead":100,"#
                + #""heardAgo":600}"#)
    }

    // R-221
    @Test func `relays with one name -> marked, and one that is away is not counted`() {
        let relays = [
            relay("one", clock: 10_000, heardAt: nil), relay("two", clock: 9_500, heardAt: 9_400),
            relay("two", clock: 9_500, heardAt: 9_400), relay("one", clock: 1, heardAt: 7_000),
        ]
        let lines = ClusterCommand.lines(of: relays, isJSON: false)
        let marks = lines.map { $0.hasSuffix("(several relays have this name)") }
        #expect(marks == [false, true, true, false])
        #expect(ClusterCommand.lines(of: relays, isJSON: true)[1].hasSuffix(#""heardAgo":600,"isNameShared":true}"#))
    }
}
