import MartletWire
import Testing

@testable import MartletLink

@Suite struct PeerRatesTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    // W-71
    @Test func `the 101st ping of a burst is a controlFlood, and later ones are allowed at 10 a second`() throws {
        var rates = PeerRates()
        for _ in 0..<100 { try rates.countPing(now: start) }
        #expect(throws: LinkError.peer(.controlFlood)) { try rates.countPing(now: start) }
        for number in 1...20 as ClosedRange<Int64> { try rates.countPing(now: start + .milliseconds(100 * number)) }
        #expect(throws: LinkError.peer(.controlFlood)) { try rates.countPing(now: start + .milliseconds(2099)) }
    }

    // W-73
    @Test func `the 33rd unknown frame of a burst is an unknownFlood, and one is allowed in 1.875 s`() throws {
        var rates = PeerRates()
        for _ in 0..<32 { try rates.countUnknownFrame(now: start) }
        #expect(throws: LinkError.peer(.unknownFlood)) { try rates.countUnknownFrame(now: start) }
        try rates.countUnknownFrame(now: start + .milliseconds(1875))
        #expect(throws: LinkError.peer(.unknownFlood)) { try rates.countUnknownFrame(now: start + .milliseconds(3749)) }
    }
}
