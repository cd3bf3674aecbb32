import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct MessageRateTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private func rate(messages: Int, bytes: Int) -> MessageRate {
        var rate = MessageRate()
        (rate.messagesPerSecond, rate.messageBurst) = (messages, 2 * messages)
        (rate.bytesPerSecond, rate.byteBurst) = (bytes, 2 * bytes)
        return rate
    }

    //
    @Test func `messages beyond the burst → overdrawn for a second for each second's worth`() {
        var allowance = MessageAllowance(rate(messages: 10, bytes: 1_000_000))
        for _ in 0..<20 { allowance.spend(byteCount: 1, now: Self.start) }
        #expect(allowance.creditAt <= Self.start)
        allowance.spend(byteCount: 1, now: Self.start)
        #expect(allowance.creditAt == Self.start + .milliseconds(100))
        for _ in 0..<9 { allowance.spend(byteCount: 1, now: Self.start) }
        #expect(allowance.creditAt == Self.start + .seconds(1))
    }

    //
    @Test func `bytes beyond the burst → overdrawn`() {
        var allowance = MessageAllowance(rate(messages: 1000, bytes: 1000))
        allowance.spend(byteCount: 2000, now: Self.start)
        #expect(allowance.creditAt <= Self.start)
        allowance.spend(byteCount: 3000, now: Self.start)
        #expect(allowance.creditAt == Self.start + .seconds(3))
    }

    @Test func `values out of their ranges → the nearest valid ones`() {
        var allowance = MessageAllowance(rate(messages: 0, bytes: -1))
        allowance.spend(byteCount: 1, now: Self.start)
        #expect(allowance.creditAt <= Self.start)
        allowance.spend(byteCount: 1, now: Self.start)
        #expect(allowance.creditAt == Self.start + .seconds(1))
        var largest = MessageAllowance(rate(messages: 1 << 40, bytes: 1 << 40))
        largest.spend(byteCount: 1 << 30, now: Self.start)
        #expect(largest.creditAt <= Self.start)
    }
}
