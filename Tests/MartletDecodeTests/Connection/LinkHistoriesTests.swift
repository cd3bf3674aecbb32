import MartletWire
import Testing

@testable import MartletDecode

@Suite struct LinkHistoriesTests {
    @Test func `a link beyond the bound removes the oldest one`() {
        let table = LinkHistories()
        for number in 0...LinkHistories.maxLinkCount {
            let id = LinkID(rawValue: UInt64(number))
            table.insert(LinkHistory(.link, budget: table.budget), as: id)
            table.insert(LinkHistory(.anywhere, budget: table.budget), as: id)
        }
        #expect(table[LinkID(rawValue: 0)] == nil)
        #expect(table[LinkID(rawValue: 1)]?.beginning == .anywhere)
        #expect(table[LinkID(rawValue: UInt64(LinkHistories.maxLinkCount))] != nil)
    }
}
