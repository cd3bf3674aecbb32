import Testing

@testable import MartletRelay

@Suite struct UseOrderTests {
    @Test func `the first is the number that has not been used for longest, whatever is removed`() {
        var order = UseOrder()
        #expect(order.first == nil)
        for number in [3, 0, 2, 3, 0] { order.use(number) }
        #expect(order.first == 2)
        order.remove(2)
        order.remove(2)
        #expect(order.first == 3)
        order.use(1)
        order.use(3)
        #expect(order.first == 0)
        for number in [1, 0, 3] { order.remove(number) }
        #expect(order.first == nil)
    }
}
