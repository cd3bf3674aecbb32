import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// The credit that a room withholds.
@Suite struct RoomThrottleTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let alice = AccountName("alice")
    private let first = MemberKey(link: LinkKey(slot: 0, generation: 0), session: .first)
    private let second = MemberKey(link: LinkKey(slot: 1, generation: 0), session: .first)

    private var rate: MessageRate {
        var rate = MessageRate()
        (rate.messagesPerSecond, rate.messageBurst) = (10, 20)
        return rate
    }

    private func update(
        _ throttle: inout RoomThrottle, _ count: Int, after delay: Duration
    ) -> [Int] {
        throttle.update(messageCount: count, byteCount: count, rate: rate, now: Self.start + delay).map(\.byteCount)
    }

    //
    @Test func `messages within the burst → nothing is withheld, idle when the burst is complete again`() {
        var throttle = RoomThrottle()
        #expect(throttle.isIdle && throttle.deadline == nil)
        #expect(update(&throttle, 20, after: .zero) == [])
        #expect(!throttle.isOverdrawn && throttle.deadline == Self.start + .seconds(2))
        #expect(update(&throttle, 0, after: .milliseconds(1_999)) == [] && !throttle.isIdle)
        #expect(update(&throttle, 0, after: .seconds(2)) == [] && throttle.isIdle)
    }

    //
    @Test func `messages beyond the burst → credit is withheld, by session, until the rate permits them`() {
        var throttle = RoomThrottle()
        _ = update(&throttle, 25, after: .zero)
        #expect(throttle.isOverdrawn && throttle.deadline == Self.start + .milliseconds(500))
        throttle.withhold(5, from: first, of: Self.alice)
        throttle.withhold(7, from: second, of: nil)
        throttle.withhold(6, from: first, of: Self.alice)
        #expect(throttle.withholds(from: Self.alice) && !throttle.withholds(from: AccountName("bob")))
        #expect(update(&throttle, 0, after: .milliseconds(499)) == [])
        #expect(update(&throttle, 0, after: .milliseconds(500)) == [11, 7])
        #expect(!throttle.withholds(from: Self.alice) && !throttle.isIdle)
        #expect(update(&throttle, 0, after: .milliseconds(501)) == [])
    }

    //
    @Test func `further messages while credit is withheld → it is withheld for longer`() {
        var throttle = RoomThrottle()
        _ = update(&throttle, 25, after: .zero)
        throttle.withhold(5, from: first, of: Self.alice)
        #expect(update(&throttle, 10, after: .milliseconds(500)) == [])
        #expect(throttle.deadline == Self.start + .milliseconds(1_500))
        #expect(update(&throttle, 0, after: .milliseconds(1_500)) == [5])
    }
}
