import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// The questions of a loop to the other relays.
@Suite struct BusRoomsTests {
    private let relay = RelayID(rawValue: 2)
    private let now = Instant(nanoseconds: 1_000_000_000)

    //
    @Test func `an incomplete relay → asked at once, then once a second until a pass finds no room`() {
        var bus = BusRooms(maxItemByteCount: 4096)
        #expect(bus.deadline == nil && bus.begin(now: now) == nil)
        bus.noteIncomplete(relay, before: 5, now: now)
        #expect(bus.begin(now: now) == 0 && bus.relays == [relay: 5])
        bus.asked(512, next: 600, now: now)
        #expect(bus.begin(now: now) == nil && bus.begin(now: now + .seconds(1)) == 600)
        bus.asked(0, next: nil, now: now + .seconds(1))
        #expect(bus.begin(now: now + .seconds(2)) == 0)
        bus.asked(0, next: nil, now: now + .seconds(2))
        #expect(bus.deadline == nil)
    }

    //
    @Test func `questions of other relays → a bounded number is answered at once`() {
        var bus = BusRooms(maxItemByteCount: 4096)
        let count = (0..<2 * BusRooms.answerBurst).count { _ in bus.mayAnswer(now: now) }
        #expect(count == BusRooms.answerBurst)
    }
}
