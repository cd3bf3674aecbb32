import Testing

@testable import MartletRelay

@Suite struct RecencyListTests {
    @Test func `leastRecent is the number unused for longest after uses and removals`() {
        var list = RecencyList()
        #expect(list.leastRecent == nil)
        for number in [3, 0, 2, 3, 0] { list.use(number) }
        #expect(list.leastRecent == 2)
        list.remove(2)
        list.remove(2)
        #expect(list.leastRecent == 3)
        list.use(1)
        list.use(3)
        #expect(list.leastRecent == 0)
        for number in [1, 0, 3] { list.remove(number) }
        #expect(list.leastRecent == nil)
    }
}
