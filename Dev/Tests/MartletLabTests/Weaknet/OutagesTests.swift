import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct OutagesTests {
    @Test func `stalls repeat, the black hole occurs once`() {
        var profile = WeakLinkProfile()
        profile.stallEvery = .seconds(10)
        profile.stallFor = .seconds(2)
        profile.blackHoleAt = .seconds(21)
        profile.blackHoleFor = .seconds(9)
        let outages = Outages(profile)
        let openings: [(Int, Int)] = [
            (0, 0), (9, 9), (10, 12), (11, 12), (12, 12), (20, 32), (25, 32), (31, 32), (40, 42),
        ]
        for (time, opening) in openings { #expect(outages.firstOpening(from: .seconds(time)) == .seconds(opening)) }
        #expect(outages.isBlackHole(at: .seconds(21)))
        #expect(!outages.isBlackHole(at: .seconds(30)))
    }

    @Test func `a link without faults is always open`() {
        #expect(Outages(WeakLinkProfile()).firstOpening(from: .seconds(5)) == .seconds(5))
    }
}
