package import MartletLink
package import MartletWire

/// The other relays of the store, as a relay's process hears them on the bus, and the numbers of datagrams (R-212 to
///
///
/// | state of a relay | owns | ends |
/// |---|---|---|
/// | unknown | nothing | a datagram: heard, incomplete from its number on |
/// | heard | the number of the last datagram, its last beat, its commands | nothing heard for `lossTimeout`: away |
/// | away | the same | a datagram: heard; nothing heard for `forgetTimeout`: unknown |
/// | ended | the same, after its last beat | as away |
///
/// | state of a command | owns | ends |
/// |---|---|---|
/// | repeated | a number, the relays that have performed it | all known relays have; `forgetTimeout` |
///
/// Datagrams of a relay are taken in the order of their numbers. A late one counts as lost, so none is taken twice.
package struct BusPeers: Sendable {
    /// The interval of beats, and of repeated commands.
    package static let beatInterval: Duration = .seconds(1)
    /// The duration without a datagram after which the members of a relay are away.
    package static let lossTimeout: Duration = .seconds(3)
    /// The duration without a datagram after which a relay is unknown, and for which a command is repeated.
    static let forgetTimeout: Duration = .seconds(30)
    /// The maximum number of other relays of a store.
    static let maxCount = 64
    /// The maximum number of commands of a relay whose numbers are kept.
    static let maxCommandCount = 1024

    /// What follows from a datagram or from time.
    package enum Event: Equatable, Sendable {
        /// Datagrams of a relay before this number may be missing.
        case incomplete(RelayID, before: UInt64)
        /// A relay is away.
        case lost(RelayID)
        /// An item of the datagram of a relay with this number.
        case item(BusItem, from: RelayID, number: UInt64)
        /// Perform a command of a relay, which has this name.
        case command(BusCommand, from: String)
        /// A relay that is heard has the name of this one.
        case nameShared(RelayID)
        /// A datagram was ignored: of this relay, or of one beyond the maximum number.
        case fault(RelayID?, BusFault)
    }

    private struct Peer: Sendable {
        var number: UInt64
        var heardAt: Instant
        var isAway = false
        /// Whether the relay has sent its last beat.
        var hasEnded = false
        var hasFault = false
        /// Whether it was reported to have the name of this relay.
        var sharesName = false
        var overview: PeerRelay?
        /// The commands that were performed, in order.
        var commands = Deque<UInt64>()
    }

    private struct Command: Sendable {
        let number: UInt64
        let command: BusCommand
        /// The relay that performs it; nil for all.
        let relay: RelayID?
        let end: Instant
        var performers: Set<RelayID> = []
    }

    /// The identity of this process.
    package let id: RelayID
    private let maxByteCount: Int
    private var peers: [RelayID: Peer] = [:]
    private var number: UInt64 = 0
    private var commandNumber: UInt64 = 0
    private var commands: [Command] = []
    private var outgoing: [BusMessage] = []
    private var hasForeignFault = false
    /// Whether items were not sent because no relay was heard. The next datagram leaves out a number.
    private var hasGap = false
    /// Datagrams that were not taken: invalid, late, repeated or of a relay beyond the maximum.
    package private(set) var ignoredCount: UInt64 = 0

    /// Creates a table without other relays.
    package init(id: RelayID, maxDatagramByteCount: Int) {
        self.id = id
        maxByteCount = maxDatagramByteCount
    }

    /// The other relays, those away included and those that have ended not, with the times at which they were heard, by
    /// identity.
    ///
    /// - Parameter wallClock: milliseconds since 1970.
    package func relays(now: Instant, wallClock: UInt64) -> [PeerRelay] {
        peers.sorted { $0.key < $1.key }.compactMap { _, peer in
            guard !peer.hasEnded, let known = peer.overview else { return nil }
            let age = UInt64(clamping: (now - peer.heardAt).nanoseconds / 1_000_000)
            return PeerRelay(
                relay: known.relay, name: known.name, agent: known.agent, linkCount: known.linkCount,
                roomCount: known.roomCount, isDraining: known.isDraining, relayClock: known.relayClock,
                lastHeardAt: wallClock - min(age, wallClock))
        }
    }

    // MARK: Outgoing

    /// Sends the last beat.
    package mutating func end(_ overview: PeerRelay) { outgoing.append(BusMessage(.beat(overview, isLast: true))) }

    /// Adds items to the next datagrams.
    package mutating func append(_ messages: [BusMessage]) { outgoing += messages }

    /// Sends a command to one of the other relays, or to all, until each has performed it. A relay that starts
    /// meanwhile performs a command to all.
    package mutating func perform(_ command: BusCommand, at relay: RelayID? = nil, now: Instant) {
        commandNumber += 1
        outgoing.append(BusMessage(.command(commandNumber, command), to: relay))
        commands.append(
            Command(number: commandNumber, command: command, relay: relay, end: now + Self.forgetTimeout))
        if commands.count > Self.maxCommandCount { commands.removeFirst() }
    }

    /// Takes the datagrams with the items so far.
    ///
    /// - Parameter hasLost: Whether items between or behind them were lost. The missing number follows them, since
    ///   others would take what comes behind it as complete.
    package mutating func takeDatagrams(hasLost: Bool = false) -> [[UInt8]] {
        var writer = BusWriter(relay: id, after: number, maxByteCount: maxByteCount)
        if hasGap && !outgoing.isEmpty {
            writer.skip()
            hasGap = false
        }
        for message in outgoing { writer.append(message) }
        if hasLost { writer.skip() }
        outgoing = []
        let datagrams: [[UInt8]]
        (datagrams, number) = writer.finish()
        return datagrams
    }

    // MARK: Time

    /// A beat is due.
    package mutating func beat(_ overview: PeerRelay, now: Instant) -> [Event] {
        outgoing.append(BusMessage(.beat(overview)))
        var events: [Event] = []
        for relay in peers.keys.sorted() {
            guard let peer = peers[relay] else { continue }
            if !peer.isAway, peer.heardAt + Self.lossTimeout <= now {
                peers[relay]?.isAway = true
                events.append(.lost(relay))
            } else if !peer.isAway, !peer.sharesName, peer.overview?.name == overview.name {
                peers[relay]?.sharesName = true
                events.append(.nameShared(relay))
            }
            if peer.heardAt + Self.forgetTimeout <= now { peers[relay] = nil }
        }
        commands.removeAll { command in
            let relays = command.relay.map { [$0] } ?? Array(peers.keys)
            return command.end <= now || relays.allSatisfy(command.performers.contains)
        }
        for command in commands {
            outgoing.append(BusMessage(.command(command.number, command.command), to: command.relay))
        }
        return events
    }

    // MARK: Incoming

    /// A datagram of the bus, which may be invalid.
    package mutating func receive(_ bytes: RawSpan, now: Instant) -> [Event] {
        let head: BusHead
        do throws(BusError) { head = try BusHead(parsing: bytes) } catch { return refuse(nil, .invalid(error)) }
        guard head.relay != id else { return [] }
        let known = peers[head.relay]
        if known == nil, peers.count == Self.maxCount, let ended = peers.first(where: { $0.value.hasEnded })?.key {
            peers[ended] = nil
        }
        guard known != nil || peers.count < Self.maxCount else { return refuse(nil, .tooManyRelays) }
        var peer = known ?? Peer(number: 0, heardAt: now, isAway: true)
        guard head.number > peer.number else {
            ignoredCount += 1
            return []
        }
        var messages: [BusMessage] = []
        var fault: BusError?
        do throws(BusError) { messages = try BusHead.messages(in: bytes) } catch { fault = error }
        // An invalid datagram takes no place.
        if let fault, known == nil { return refuse(nil, .invalid(fault)) }
        hasGap = hasGap || peer.isAway
        var events: [Event] = []
        if peer.isAway || head.number != peer.number + 1 { events.append(.incomplete(head.relay, before: head.number)) }
        (peer.number, peer.heardAt, peer.isAway, peer.hasEnded) = (head.number, now, false, false)
        peers[head.relay] = peer
        for message in messages where message.to == nil || message.to == id {
            take(message.item, head, into: &events)
        }
        guard let fault else { return events }
        events.append(.incomplete(head.relay, before: head.number &+ 1))
        return events + refuse(head.relay, .invalid(fault))
    }

    /// A datagram is not taken: of this relay, or of one that is not known.
    package mutating func refuse(_ relay: RelayID?, _ fault: BusFault) -> [Event] {
        ignoredCount += 1
        let isKnown = relay.map { peers[$0]?.hasFault == true } ?? hasForeignFault
        if let relay { peers[relay]?.hasFault = true } else { hasForeignFault = true }
        return isKnown ? [] : [.fault(relay, fault)]
    }

    private mutating func take(_ item: BusItem, _ head: BusHead, into events: inout [Event]) {
        switch item {
        case .beat(let overview, let isLast):
            peers[head.relay]?.overview = overview
            guard isLast else { return }
            peers[head.relay]?.isAway = true
            peers[head.relay]?.hasEnded = true
            events.append(.lost(head.relay))
        case .command(let number, let command):
            outgoing.append(BusMessage(.performed(number), to: head.relay))
            guard peers[head.relay]?.commands.contains(number) == false else { return }
            peers[head.relay]?.commands.append(number)
            if peers[head.relay]?.commands.count ?? 0 > Self.maxCommandCount {
                _ = peers[head.relay]?.commands.popFirst()
            }
            events.append(.command(command, from: peers[head.relay]?.overview?.name ?? "\(head.relay)"))
        case .performed(let number):
            if let index = commands.firstIndex(where: { $0.number == number }) {
                commands[index].performers.insert(head.relay)
            }
        default: events.append(.item(item, from: head.relay, number: head.number))
        }
    }
}

extension BusPeers.Event {
    /// Whether the event concerns rooms or accounts of a loop.
    package func concerns(_ loop: Int, _ place: LoopPlace) -> Bool {
        guard place.count > 1, case .item(let item, _, _) = self else { return true }
        if case .linked(let account, _) = item { return place.loop(of: account) == loop }
        return item.rooms.contains { place.loop(of: $0) == loop }
    }
}

extension BusItem {
    /// The rooms that the item concerns.
    fileprivate var rooms: [RoomName] {
        switch self {
        case .wanted(let rooms): rooms
        case .members(let members): [members.room]
        case .transient(let room, _), .request(let room, _), .response(let room, _), .cancel(let room, _),
            .changed(let room):
            [room]
        case .membership(let membership): [membership.room]
        case .entries(let entries), .forwarded(let entries, _): [entries.room]
        case .beat, .command, .performed, .linked: []
        }
    }
}

/// The reason for which a datagram of the bus was ignored. It is reported once for each relay.
public enum BusFault: Error, Equatable, Sendable {
    /// The datagram is invalid, or has the layout of another version. A relay with a key of the store takes version 2
    /// only, and others version 1.
    case invalid(BusError)
    /// There are more relays than a store may have.
    case tooManyRelays
    /// The datagram has no right code: its sender does not have the key of the store.
    case notAuthenticated
}
