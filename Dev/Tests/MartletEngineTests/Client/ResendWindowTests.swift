import Testing

@testable import Martlet
@testable import MartletLink

// R-21, C-80
@Suite("Window in which messages may be published again")
struct ResendWindowTests {
    private let end = Instant.zero + (ResendWindow.lifetime - ResendWindow.margin)

    @Test func `messages handed over at a time → ended when their window has passed, not before`() {
        var window = ResendWindow()
        window.handedOver(upTo: 3, now: .zero)
        window.handedOver(upTo: 5, now: .zero + .seconds(7200))
        let before = window.endedUpTo(now: Instant(nanoseconds: end.nanoseconds - 1))
        let first = window.endedUpTo(now: end)
        let second = window.endedUpTo(now: end + .seconds(7200))
        #expect(before == 0 && first == 3 && second == 5)
    }

    @Test func `messages handed over within an hour → the window of the first one`() {
        var window = ResendWindow()
        window.handedOver(upTo: 3, now: .zero)
        window.handedOver(upTo: 5, now: .zero + .seconds(3599))
        let ended = window.endedUpTo(now: end)
        #expect(ended == 5)
    }

    @Test func `a later message with an earlier end → the messages before it end with it`() {
        var window = ResendWindow()
        window.add(1, until: .zero + .seconds(90_000))
        window.add(2, until: .zero + .seconds(10))
        let ended = window.endedUpTo(now: .zero + .seconds(10))
        #expect(ended == 2)
    }
}
