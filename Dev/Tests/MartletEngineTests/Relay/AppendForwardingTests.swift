import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// The choice between appending and forwarding in a room with several publishing relays.
@Suite struct AppendForwardingTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let (two, three) = (RelayID(rawValue: 2), RelayID(rawValue: 3))

    private func begin(
        _ forwarding: inout AppendForwarding, _ waitingCount: Int, after milliseconds: Int = 0, mayForward: Bool = true
    ) -> AppendForwarding.Decision {
        forwarding.begin(
            waitingCount: waitingCount, mayForward: mayForward, now: Self.start + .milliseconds(milliseconds))
    }

    /// A relay whose append was refused, because relay 2 has appended up to offset 4.
    private func forwarding() -> AppendForwarding {
        var forwarding = AppendForwarding()
        forwarding.refused()
        forwarding.noteAppend(of: Self.two, upTo: 4)
        return forwarding
    }

    //
    @Test func `a refused append, and the relay of the last one is not known → appended again`() {
        var forwarding = AppendForwarding()
        forwarding.refused()
        #expect(begin(&forwarding, 1) == .append && forwarding.deadline == nil)
    }

    //
    @Test func `messages wait at a relay that does not append → each is sent once, and they wait`() {
        var forwarding = forwarding()
        #expect(begin(&forwarding, 2) == .forward(Self.two, after: 0))
        #expect(begin(&forwarding, 2, after: 1) == .wait)
        #expect(begin(&forwarding, 3, after: 2) == .forward(Self.two, after: 2))
        #expect(forwarding.deadline == Self.start + .milliseconds(100))
        #expect(begin(&forwarding, 0, after: 3) == .append && forwarding.deadline == nil)
    }

    //
    @Test func `an append of this relay, or of a different one, is stored → the next messages go to that relay`() {
        var forwarding = forwarding()
        forwarding.stored(upTo: 5)
        #expect(begin(&forwarding, 1) == .append)
        forwarding.noteAppend(of: Self.three, upTo: 6)
        #expect(begin(&forwarding, 1) == .forward(Self.three, after: 0))
        // All messages that wait are sent to the next one.
        forwarding.noteAppend(of: Self.two, upTo: 7)
        #expect(begin(&forwarding, 2) == .forward(Self.two, after: 0))
    }

    //
    @Test func `an item about an earlier append arrives late, or twice → no effect`() {
        var forwarding = forwarding()
        forwarding.noteAppend(of: Self.three, upTo: 9)
        #expect(begin(&forwarding, 1) == .forward(Self.three, after: 0))
        forwarding.noteAppend(of: Self.two, upTo: 9)
        forwarding.noteAppend(of: Self.two, upTo: 8)
        #expect(begin(&forwarding, 1) == .wait)
    }

    //
    @Test func `some of the sent messages are stored → the others were sent, and later ones are not`() {
        var forwarding = forwarding()
        _ = begin(&forwarding, 3)
        forwarding.took(2, of: [true, false, true, false])
        #expect(begin(&forwarding, 2, after: 1) == .forward(Self.two, after: 1))
    }

    // R-230, Specs/hostile.md row 132
    @Test func `the first message waits for 100 ms → all are appended, although later ones are stored meanwhile`() {
        var forwarding = forwarding()
        _ = begin(&forwarding, 2)
        forwarding.took(1, of: [false, true])
        #expect(begin(&forwarding, 1, after: 99) == .wait)
        #expect(begin(&forwarding, 1, after: 100) == .append && forwarding.deadline == nil)
        // The relay of the last append has not taken them.
        #expect(begin(&forwarding, 1, after: 100) == .append)
    }

    //
    @Test func `the first message is stored → the next one waits for 100 ms`() {
        var forwarding = forwarding()
        _ = begin(&forwarding, 2)
        forwarding.took(1, of: [true, false])
        #expect(begin(&forwarding, 1, after: 60) == .wait)
        #expect(forwarding.deadline == Self.start + .milliseconds(160))
    }

    //
    @Test func `the relay of the last append is away → the messages are appended`() {
        var forwarding = forwarding()
        _ = begin(&forwarding, 1)
        forwarding.lost(Self.three)
        #expect(begin(&forwarding, 1) == .wait)
        forwarding.lost(Self.two)
        #expect(begin(&forwarding, 1) == .append)
    }

    //
    @Test func `messages that cannot be forwarded → appended, and all are sent again later`() {
        var forwarding = forwarding()
        _ = begin(&forwarding, 1)
        #expect(begin(&forwarding, 1, mayForward: false) == .append && forwarding.deadline == nil)
        #expect(begin(&forwarding, 1) == .forward(Self.two, after: 0))
    }

    /// A relay that has stored an append with messages of relays 2 and 3 at the start.
    private func gathering() -> AppendForwarding {
        var forwarding = AppendForwarding()
        forwarding.received(from: Self.two)
        forwarding.received(from: Self.three)
        #expect(begin(&forwarding, 3, mayForward: false) == .append)
        forwarding.stored(upTo: 3)
        #expect(begin(&forwarding, 0) == .append)
        return forwarding
    }

    //
    @Test func `both relays of the last append have forwarded others → appended at once`() {
        var forwarding = gathering()
        #expect(begin(&forwarding, 1, after: 1) == .wait)
        #expect(forwarding.deadline == Self.start + .milliseconds(5))
        forwarding.received(from: Self.two)
        #expect(begin(&forwarding, 2, after: 1, mayForward: false) == .wait)
        forwarding.received(from: Self.three)
        #expect(begin(&forwarding, 3, after: 2, mayForward: false) == .append && forwarding.deadline == nil)
    }

    //
    @Test func `a relay of the last append forwards no others → appended after 5 ms, and it is not awaited again`() {
        var forwarding = gathering()
        forwarding.received(from: Self.two)
        #expect(begin(&forwarding, 1, after: 4, mayForward: false) == .wait)
        #expect(begin(&forwarding, 1, after: 5, mayForward: false) == .append)
        forwarding.stored(upTo: 5)
        #expect(begin(&forwarding, 1, after: 6) == .wait)
        forwarding.received(from: Self.two)
        #expect(begin(&forwarding, 2, after: 6, mayForward: false) == .append)
    }

    //
    @Test func `a relay of the last append is away → not awaited`() {
        var forwarding = gathering()
        forwarding.received(from: Self.two)
        forwarding.lost(Self.three)
        #expect(begin(&forwarding, 1, mayForward: false) == .append)
    }

    //
    @Test func `eight appends with messages of this relay only → over; one with those of others → not over`() {
        var forwarding = forwarding()
        for _ in 0..<7 { forwarding.took(1, of: [true]) }
        forwarding.took(0, of: [false])
        #expect(!forwarding.isOver)
        var other = forwarding
        other.took(2, of: [true])
        for _ in 0..<7 { other.took(1, of: [true]) }
        #expect(!other.isOver)
        forwarding.took(1, of: [true])
        #expect(forwarding.isOver)
        forwarding.refused()
        #expect(!forwarding.isOver)
    }

    //
    @Test func `eight own appends → over; messages of a different relay, or a refused append → not over`() {
        var forwarding = AppendForwarding()
        for offset in 1...7 { forwarding.stored(upTo: UInt64(offset)) }
        forwarding.received(from: Self.two)
        for offset in 8...14 { forwarding.stored(upTo: UInt64(offset)) }
        forwarding.refused()
        for offset in 15...21 { forwarding.stored(upTo: UInt64(offset)) }
        #expect(!forwarding.isOver)
        forwarding.stored(upTo: 22)
        #expect(forwarding.isOver)
    }
}
