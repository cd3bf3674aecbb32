import Testing

@testable import Martlet

@Suite("Broadcast to subscribers", .timeLimit(.minutes(10)))
struct BroadcastTests {
    private func next(_ subscription: Broadcast<Int>.Subscription) -> String {
        switch subscription.broadcast.next(for: subscription.id) {
        case .element(let element): "\(element)"
        case .missed(let count): "missed \(count)"
        case .empty: "empty"
        case .over: "over"
        }
    }

    @Test func `a subscriber receives the elements after its subscription, then the end`() {
        let broadcast = Broadcast<Int>()
        broadcast.publish(0)
        let one = Broadcast.Subscription(broadcast)
        broadcast.publish(1)
        let other = Broadcast.Subscription(broadcast)
        broadcast.publish(2)
        broadcast.finish()
        #expect((1...3).map { _ in next(one) } == ["1", "2", "over"])
        #expect((1...2).map { _ in next(other) } == ["2", "over"])
    }

    @Test func `the oldest elements beyond the buffer's size are discarded and counted`() {
        let broadcast = Broadcast<Int>()
        let subscription = Broadcast.Subscription(broadcast)
        let limit = Broadcast<Int>.maxBufferedElements
        for number in 0..<(limit + 3) { broadcast.publish(number) }
        #expect(next(subscription) == "missed 3")
        for number in 3..<(limit + 3) { #expect(next(subscription) == "\(number)") }
        #expect(next(subscription) == "empty")
    }

    @Test func `an element, the end and a cancellation wake a waiting task`() async {
        let broadcast = Broadcast<Int>()
        let subscription = Broadcast.Subscription(broadcast)
        let first = Task { await broadcast.wait(for: subscription.id) }
        broadcast.publish(1)
        await first.value
        #expect(next(subscription) == "1")
        let cancelled = Task { await broadcast.wait(for: subscription.id) }
        cancelled.cancel()
        await cancelled.value
        let last = Task { await broadcast.wait(for: subscription.id) }
        broadcast.finish()
        await last.value
        #expect(next(subscription) == "over")
    }
}
