import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// The relays of a bus, by scripts of datagrams.
@Suite struct BusPeersTests {
    private static let own = RelayID(rawValue: 1)
    private static let other = RelayID(rawValue: 2)
    private var peers = BusPeers(id: own, maxDatagramByteCount: 4096)
    private var now = Instant(nanoseconds: 1_000_000_000)

    private static func overview(_ relay: RelayID, _ name: String? = nil) -> PeerRelay {
        PeerRelay(
            relay: relay, name: name ?? (relay == own ? "one" : "two"), agent: "test", linkCount: 3, roomCount: 4,
            isDraining: false, relayClock: 5)
    }

    private static func datagram(
        _ number: UInt64, of relay: RelayID = other, _ messages: [BusMessage]
    ) -> [UInt8] {
        var writer = BusWriter(relay: relay, after: number - 1, maxByteCount: 4096)
        // A confirmation of no command has no effect.
        for message in messages.isEmpty ? [BusMessage(.performed(0))] : messages { writer.append(message) }
        return writer.finish().datagrams[0]
    }

    private mutating func receive(
        _ number: UInt64, of relay: RelayID = other, _ items: BusItem..., to: RelayID? = nil
    ) -> [BusPeers.Event] {
        let bytes = Self.datagram(number, of: relay, items.map { BusMessage($0, to: to) })
        return peers.receive(bytes.rawBytes, now: now)
    }

    private func check(_ events: [BusPeers.Event], _ expected: [BusPeers.Event]) { #expect(events == expected) }

    private static func item(_ number: UInt64) -> BusPeers.Event {
        .item(.changed(.lobby), from: other, number: number)
    }

    private static func head(of datagram: [UInt8]) throws -> BusHead { try BusHead(parsing: datagram.rawBytes) }

    private static func messages(_ datagrams: [[UInt8]]) throws -> [BusMessage] {
        try datagrams.flatMap { try BusHead.messages(in: $0.rawBytes) }
    }

    //
    @Test mutating func `datagrams in order → incomplete at the first contact only`() {
        check(receive(5, .changed(.lobby)), [.incomplete(Self.other, before: 5), Self.item(5)])
        check(receive(6, .changed(.lobby)), [Self.item(6)])
        check(receive(7, .changed(.lobby)), [Self.item(7)])
    }

    //
    @Test mutating func `a missing number → incomplete; a late or repeated datagram → ignored`() {
        _ = receive(1, .changed(.lobby))
        check(receive(3, .changed(.lobby)), [.incomplete(Self.other, before: 3), Self.item(3)])
        check(receive(2, .changed(.lobby)) + receive(3, .changed(.lobby)), [])
        #expect(peers.ignoredCount == 2)
        check(receive(4, .changed(.lobby)), [Self.item(4)])
    }

    //
    @Test mutating func `an item for another relay, or of this one → ignored`() {
        _ = receive(1)
        check(receive(2, .changed(.lobby), to: RelayID(rawValue: 3)), [])
        check(receive(3, .changed(.lobby), to: Self.own), [Self.item(3)])
        check(receive(1, of: Self.own, .changed(.lobby)), [])
    }

    //
    @Test mutating func `the last beat of a relay → lost at once, not listed, and heard again by a later datagram`() {
        _ = receive(1, .beat(Self.overview(Self.other)))
        check(receive(2, .beat(Self.overview(Self.other), isLast: true)), [.lost(Self.other)])
        #expect(peers.relays(now: now, wallClock: 9).isEmpty)
        now = now + .seconds(4)
        check(peers.beat(Self.overview(Self.own), now: now), [])
        check(receive(2, .beat(Self.overview(Self.other))), [])
        #expect(peers.relays(now: now, wallClock: 9).isEmpty)
        check(receive(3, .changed(.lobby)), [.incomplete(Self.other, before: 3), Self.item(3)])
        #expect(peers.relays(now: now, wallClock: 9).map(\.name) == ["two"])
    }

    //
    @Test mutating func `the end of this relay → a last beat`() throws {
        let overview = Self.overview(Self.own)
        peers.end(overview)
        #expect(try Self.messages(peers.takeDatagrams()) == [BusMessage(.beat(overview, isLast: true))])
    }

    //
    @Test mutating func `a relay that is heard has the name of this one → reported once; one that is away → not`() {
        let own = Self.overview(Self.own, "one")
        _ = receive(1, .beat(Self.overview(Self.other, "one")))
        _ = receive(1, of: RelayID(rawValue: 3), .beat(Self.overview(RelayID(rawValue: 3))))
        check(peers.beat(own, now: now), [.nameShared(Self.other)])
        check(peers.beat(own, now: now), [])
        now = now + .seconds(3)
        _ = receive(1, of: RelayID(rawValue: 4), .beat(Self.overview(RelayID(rawValue: 4), "one")))
        now = now + .seconds(3)
        #expect(!peers.beat(own, now: now).contains(.nameShared(RelayID(rawValue: 4))))
    }

    //
    @Test mutating func `nothing heard for three seconds → lost, then incomplete when it is heard again`() {
        _ = receive(1, .beat(Self.overview(Self.other)))
        now = now + .milliseconds(2999)
        check(peers.beat(Self.overview(Self.own), now: now), [])
        now = now + .milliseconds(1)
        check(peers.beat(Self.overview(Self.own), now: now), [.lost(Self.other)])
        check(peers.beat(Self.overview(Self.own), now: now), [])
        check(receive(2, .changed(.lobby)), [.incomplete(Self.other, before: 2), Self.item(2)])
        now = now + .seconds(30)
        check(peers.beat(Self.overview(Self.own), now: now), [.lost(Self.other)])
        #expect(peers.relays(now: now, wallClock: 100_000) == [])
    }

    //
    @Test mutating func `the relays that were heard → their last beats with the times at which they were heard`() {
        _ = receive(1, .beat(Self.overview(Self.other)))
        now = now + .seconds(2)
        let relays = peers.relays(now: now, wallClock: 100_000)
        #expect(relays.map(\.name) == ["two"] && relays[0].lastHeardAt == 98_000 && relays[0].linkCount == 3)
    }

    //
    @Test mutating func `an invalid item → incomplete and one fault for each relay; another version → one fault`() {
        _ = receive(1)
        for (number, faults) in [(UInt64(2), 1), (3, 0)] {
            var bytes = Self.datagram(number, [BusMessage(.changed(.lobby))])
            bytes.removeLast()
            let events = peers.receive(bytes.rawBytes, now: now)
            #expect(events.first == .incomplete(Self.other, before: number + 1) && events.count == 1 + faults)
        }
        let version: [UInt8] = [9]
        check(peers.receive(version.rawBytes, now: now), [.fault(nil, .invalid(.version(9)))])
        check(peers.receive(version.rawBytes, now: now), [])
        #expect(peers.ignoredCount == 4)
    }

    //
    @Test mutating func `more relays than the maximum → ignored, with one fault`() {
        for number in 0..<UInt64(BusPeers.maxCount) { _ = receive(1, of: RelayID(rawValue: 10 + number)) }
        check(receive(1, of: RelayID(rawValue: 100)), [.fault(nil, .tooManyRelays)])
        check(receive(2, of: RelayID(rawValue: 101)), [])
        let events = receive(2, of: RelayID(rawValue: 10), .changed(.lobby))
        #expect(events.count == 1)
    }

    //
    @Test mutating func `a relay beyond the maximum after the end of another → takes its place`() {
        for number in 0..<UInt64(BusPeers.maxCount) { _ = receive(1, of: RelayID(rawValue: 10 + number)) }
        let (ended, added) = (RelayID(rawValue: 12), RelayID(rawValue: 100))
        check(receive(2, of: ended, .beat(Self.overview(ended), isLast: true)), [.lost(ended)])
        check(receive(1, of: added), [.incomplete(added, before: 1)])
    }

    //
    @Test mutating func `items lost before they are sent → a number is missing behind the others`() throws {
        peers.append([BusMessage(.changed(.lobby))])
        let datagrams = peers.takeDatagrams()
        peers.append([BusMessage(.changed(.lobby))])
        let lossy = peers.takeDatagrams(hasLost: true)
        peers.append([BusMessage(.changed(.lobby))])
        let heads = try [datagrams[0], lossy[0], peers.takeDatagrams()[0]].map { try Self.head(of: $0) }
        #expect(heads.map(\.number) == [1, 2, 4] && heads[0].relay == Self.own)
        let none = peers.takeDatagrams()
        #expect(none == [])
    }

    private mutating func checkCommands(_ count: Int) throws {
        let messages = try Self.messages(peers.takeDatagrams())
        #expect(messages.count { $0.item == .command(1, .revoke(.alice)) } == count)
    }

    //
    @Test mutating func `a command → repeated with each beat until all relays have performed it`() throws {
        _ = receive(1)
        _ = receive(1, of: RelayID(rawValue: 3))
        peers.perform(.revoke(.alice), now: now)
        try checkCommands(1)
        now = now + .seconds(1)
        _ = receive(2, .performed(1), to: Self.own)
        _ = peers.beat(Self.overview(Self.own), now: now)
        try checkCommands(1)
        _ = receive(2, of: RelayID(rawValue: 3), .performed(1), to: Self.own)
        _ = peers.beat(Self.overview(Self.own), now: now)
        try checkCommands(0)
    }

    //
    @Test mutating func `a command that nobody performs → repeated for 30 seconds`() throws {
        _ = receive(1)
        peers.perform(.kick(.alice), now: now)
        now = now + .seconds(29)
        _ = receive(2)
        _ = peers.beat(Self.overview(Self.own), now: now)
        let repeated = try Self.messages(peers.takeDatagrams())
        #expect(repeated.contains { $0.item == .command(1, .kick(.alice)) })
        now = now + .seconds(1)
        _ = peers.beat(Self.overview(Self.own), now: now)
        let last = try Self.messages(peers.takeDatagrams())
        #expect(last.map(\.item) == [.beat(Self.overview(Self.own))])
    }

    //
    @Test mutating func `a command twice → performed once, and confirmed twice`() throws {
        _ = receive(1, .beat(Self.overview(Self.other)))
        check(receive(2, .command(7, .kick(.alice))), [.command(.kick(.alice), from: "two")])
        check(receive(3, .command(7, .kick(.alice))), [])
        let confirmations = try Self.messages(peers.takeDatagrams())
        #expect(confirmations == Array(repeating: BusMessage(.performed(7), to: Self.other), count: 2))
    }
}
