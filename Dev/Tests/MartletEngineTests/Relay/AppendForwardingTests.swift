import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// The order of appends of several relays.
@Suite struct AppendRotationTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let (two, three) = (RelayID(rawValue: 2), RelayID(rawValue: 3))

    private func begins(
        _ rotation: inout AppendRotation, after milliseconds: Int, hasMessages: Bool = true, isReading: Bool = false
    ) -> Bool {
        rotation.begin(
            hasMessages: hasMessages, isReading: isReading, now: Self.start + .milliseconds(milliseconds))
    }

    /// A relay whose refused append was stored up to offset 10, after those of two others, at the start.
    private func rotation() -> AppendRotation {
        var rotation = AppendRotation()
        rotation.refused()
        rotation.noteAppend(of: Self.two, at: 4)
        rotation.noteAppend(of: Self.three, at: 7)
        rotation.stored(upTo: 10)
        _ = begins(&rotation, after: 0, hasMessages: false)
        return rotation
    }

    //
    @Test func `a refused append before the first one is stored → the next one begins at once`() {
        var rotation = AppendRotation()
        rotation.refused()
        rotation.noteAppend(of: Self.two, at: 4)
        #expect(begins(&rotation, after: 0) && rotation.deadline == nil && !rotation.isHolding)
    }

    //
    @Test func `two relays have appended earlier and send nothing → held for two turns, then they are left out`() {
        var rotation = rotation()
        #expect(!begins(&rotation, after: 0) && rotation.deadline == Self.start + .milliseconds(10))
        #expect(!begins(&rotation, after: 9) && rotation.isHolding)
        #expect(begins(&rotation, after: 10) && !rotation.isHolding && rotation.deadline == nil)
        rotation.stored(upTo: 11)
        #expect(begins(&rotation, after: 10))
    }

    //
    @Test func `each of the others uses its turn → the append begins when the last of them is heard`() {
        var rotation = rotation()
        #expect(!begins(&rotation, after: 0))
        rotation.noteAppend(of: Self.two, at: 11)
        // A turn of (3 · 5 ms + 2 · 2 ms) / 4.
        #expect(!begins(&rotation, after: 2) && rotation.deadline == Self.start + .microseconds(6750))
        rotation.noteAppend(of: Self.three, at: 14)
        #expect(begins(&rotation, after: 4))
    }

    //
    @Test func `an item about earlier messages arrives late → the order remains`() {
        var rotation = rotation()
        rotation.noteAppend(of: Self.two, at: 12)
        rotation.noteAppend(of: Self.two, at: 3)
        #expect(!begins(&rotation, after: 0) && rotation.deadline == Self.start + .milliseconds(5))
    }

    //
    @Test func `a relay needs 8 ms for its turn → a turn is twice as long, and becomes shorter by a quarter`() {
        var rotation = rotation()
        #expect(!begins(&rotation, after: 0))
        rotation.noteAppend(of: Self.two, at: 11)
        #expect(!begins(&rotation, after: 8))
        #expect(rotation.deadline == Self.start + .milliseconds(8 + 16))
        rotation.noteAppend(of: Self.three, at: 12)
        #expect(begins(&rotation, after: 10))
        rotation.stored(upTo: 13)
        // (3 · 16 ms + 2 · 2 ms) / 4 for each of two relays
        #expect(!begins(&rotation, after: 10) && rotation.deadline == Self.start + .milliseconds(10 + 26))
    }

    //
    @Test func `a relay that was left out is heard 12 ms after its turn began → a turn lasts 24 ms`() {
        var rotation = rotation()
        #expect(begins(&rotation, after: 10))
        rotation.stored(upTo: 11)
        _ = begins(&rotation, after: 11, hasMessages: false)
        rotation.noteAppend(of: Self.two, at: 12)
        _ = begins(&rotation, after: 12, hasMessages: false)
        rotation.stored(upTo: 13)
        #expect(!begins(&rotation, after: 13) && rotation.deadline == Self.start + .milliseconds(13 + 24))
    }

    //
    @Test func `relays need no time for their turns → a turn lasts 1 ms`() {
        var rotation = rotation()
        for offset in 11..<60 {
            rotation.stored(upTo: UInt64(2 * offset))
            #expect(!begins(&rotation, after: 0))
            rotation.noteAppend(of: Self.two, at: UInt64(2 * offset + 1))
            rotation.noteAppend(of: Self.three, at: UInt64(2 * offset + 1))
            #expect(begins(&rotation, after: 0))
        }
        rotation.stored(upTo: 200)
        let least = Self.start + .milliseconds(2)
        #expect(!begins(&rotation, after: 0) && (least..<least + .microseconds(1)).contains(rotation.deadline ?? .zero))
    }

    // R-230, Specs/hostile.md row 132
    @Test func `many relays, or one that was heard after minutes → held for 100 ms`() {
        var rotation = rotation()
        _ = begins(&rotation, after: 10)
        rotation.stored(upTo: 100)
        rotation.noteAppend(of: Self.three, at: 99)
        for relay in 4..<40 { rotation.noteAppend(of: RelayID(rawValue: UInt64(relay)), at: 50) }
        #expect(!begins(&rotation, after: 600_000))
        #expect(rotation.deadline == Self.start + .milliseconds(600_100))
        // Items of relays do not extend the time.
        rotation.noteAppend(of: Self.two, at: 60)
        #expect(!begins(&rotation, after: 600_099) && begins(&rotation, after: 600_100))
    }

    //
    @Test func `missed messages are read → held until the copy has them, for at most 100 ms`() {
        var rotation = AppendRotation()
        rotation.refused()
        #expect(!begins(&rotation, after: 0, isReading: true))
        #expect(rotation.deadline == Self.start + .milliseconds(100) && rotation.isHolding)
        #expect(begins(&rotation, after: 3))
        #expect(!begins(&rotation, after: 3, isReading: true) && begins(&rotation, after: 103, isReading: true))
    }

    //
    @Test func `held messages are gone → nothing is held, and there is no deadline`() {
        var rotation = rotation()
        _ = begins(&rotation, after: 0)
        #expect(!begins(&rotation, after: 1, hasMessages: false) && !rotation.isHolding && rotation.deadline == nil)
    }

    //
    @Test func `eight appends without contention → over; a refused one, or one of others in a hold → not over`() {
        var rotation = rotation()
        for offset in 11..<17 { rotation.stored(upTo: UInt64(offset)) }
        #expect(!rotation.isOver)
        rotation.noteAppend(of: Self.two, at: 17)
        rotation.stored(upTo: 18)
        #expect(rotation.isOver)
        rotation.refused()
        #expect(!rotation.isOver)
        for offset in 19..<26 { rotation.stored(upTo: UInt64(offset)) }
        #expect(!begins(&rotation, after: 0) && rotation.isHolding)
        rotation.noteAppend(of: Self.three, at: 26)
        rotation.stored(upTo: 27)
        #expect(!rotation.isOver)
    }
}
