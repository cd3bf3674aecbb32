import MartletLink
import MartletRelay
import MartletWire

/// The engines of a relay's loops behind the interface of one engine. A connection keeps the key under which it was
/// accepted when it moves between loops.
final class VirtualLoops {
    final class Loop {
        var engine: RelayEngine

        init(_ engine: consuming RelayEngine) {
            self.engine = engine
        }
    }

    /// A connection as its loop names it.
    private struct Location: Hashable {
        var loop: Int
        var key: ConnectionKey
    }

    let loops: [Loop]
    /// The locations and outside keys of transferred connections.
    private var locations: [ConnectionKey: Location] = [:]
    private var names: [Location: ConnectionKey] = [:]

    init(_ configuration: RelayConfiguration, count: Int, seed: UInt64) {
        var configuration = configuration
        configuration.keepsMemberships = true
        loops = (0..<count).map {
            Loop(RelayEngine(configuration: configuration, seed: seed, place: LoopPlace(index: $0, count: count)))
        }
    }

    /// The loop that accepts connections.
    var first: RelayEngine {
        _read { yield loops[0].engine }
        _modify { yield &loops[0].engine }
    }

    var statistics: RelayStatistics { loops.reduce(RelayStatistics()) { $0 + $1.engine.statistics } }

    /// The remaining state of all loops when nothing is in transit.
    func quiescence() -> [String] { loops.flatMap { $0.engine.quiescence().faults } }

    /// The copies of rooms in all loops.
    var revisions: [RoomRevision] { loops.flatMap { $0.engine.revisions } }

    func creditTable(of who: DeviceKey) -> CreditTable? {
        for loop in loops {
            if let table = loop.engine.creditTable(of: who) { return table }
        }
        return nil
    }

    func kick(_ account: AccountName, now: Instant) {
        for loop in loops { loop.engine.kick(account, now: now) }
    }

    /// An event of the bus. Each loop receives it; rooms of other loops ignore it.
    func busReceived(_ event: BusPeers.Event, now: Instant) {
        for (index, loop) in loops.enumerated() {
            guard event.concerns(index, LoopPlace(index: 0, count: loops.count)) else { continue }
            loop.engine.busReceived(event, now: now)
        }
    }

    func revoke(_ account: AccountName, now: Instant) {
        for loop in loops { loop.engine.revoke(account, now: now) }
    }

    /// Performs a command of the relay's application.
    func perform(_ command: RoomCommand, in room: RoomName, id: UInt64) {
        loop(of: room).engine.perform(command, in: room, id: id)
    }

    func setWallClock(_ milliseconds: UInt64) {
        for loop in loops { loop.engine.wallClock = milliseconds }
    }

    // MARK: - Connections

    func receive(_ bytes: RawSpan, on key: ConnectionKey, now: Instant) {
        let location = location(of: key)
        loops[location.loop].engine.receive(bytes, on: location.key, now: now)
    }

    func transmit(on key: ConnectionKey, into out: inout OutputRawSpan, now: Instant) {
        let location = location(of: key)
        loops[location.loop].engine.transmit(on: location.key, into: &out, now: now)
    }

    func endOfStream(_ key: ConnectionKey, now: Instant) {
        let location = location(of: key)
        loops[location.loop].engine.endOfStream(location.key, now: now)
    }

    func closed(_ key: ConnectionKey, now: Instant) {
        let location = location(of: key)
        loops[location.loop].engine.closed(location.key, now: now)
        locations[key] = nil
        names[location] = nil
    }

    private func location(of key: ConnectionKey) -> Location { locations[key] ?? Location(loop: 0, key: key) }

    // MARK: - Time

    var deadline: Instant? { loops.compactMap { $0.engine.deadline }.min() }

    func deadlinePassed(now: Instant) {
        for loop in loops {
            guard let deadline = loop.engine.deadline, deadline <= now else { continue }
            loop.engine.deadlinePassed(now: now)
        }
    }

    // MARK: - Results of the shell

    func authenticated(_ key: ConnectionKey, _ answer: AuthenticationAnswer, now: Instant) {
        let location = location(of: key)
        loops[location.loop].engine.authenticated(location.key, answer, now: now)
    }

    /// The loop that has made a call receives its result.
    func completed(_ id: RelayCallID, _ result: RelayResult, now: Instant) {
        loops[Int(id.loop)].engine.completed(id, result, now: now)
    }

    /// The loop that has asked receives the answer of the store.
    func answered(_ answer: StoreAnswer, at loop: Int, now: Instant) {
        loops[loop].engine.answered(answer, now: now)
    }

    /// The store reports that another relay has changed a room.
    func changed(_ revision: RoomRevision, now: Instant) {
        loop(of: revision.room).engine.changed(revision, now: now)
    }

    private func loop(of room: RoomName) -> Loop { loops[LoopPlace(index: 0, count: loops.count).loop(of: room)] }

    // MARK: - Outputs

    /// The next output, with the loop that it is from.
    func nextOutput(now: Instant) -> (loop: Int, output: RelayOutput)? {
        for number in loops.indices {
            while let output = loops[number].engine.nextOutput(now: now) {
                if let output = translate(output, from: number, now: now) { return (number, output) }
            }
        }
        return nil
    }

    func receive(_ messages: [LoopMessage], at loop: Int, now: Instant) {
        loops[loop].engine.receive(messages, now: now)
    }

    /// Translates an output to the outside keys; nil for outputs between loops.
    private func translate(_ output: RelayOutput, from loop: Int, now: Instant) -> RelayOutput? {
        switch output {
        case .link(let output):
            return translate(output, from: loop, now: now).map { .link($0) }
        case .call, .policyOverdue, .send, .store, .undelivered, .bus, .commandEnded, .note: return output
        }
    }

    private func translate(_ output: LinkServerOutput, from loop: Int, now: Instant) -> LinkServerOutput? {
        func name(_ key: ConnectionKey) -> ConnectionKey { names[Location(loop: loop, key: key)] ?? key }
        switch output {
        case .transfer(let key, let other):
            return move(key, called: name(key), from: loop, to: other, now: now)
        case .authenticate(let key, let request): return .authenticate(name(key), request)
        case .continueExchange(let key, let message): return .continueExchange(name(key), message)
        case .transmit(let keys): return .transmit(keys.map(name))
        case .close(let key, let afterFlush): return .close(name(key), afterFlush: afterFlush)
        case .pauseReading(let key): return .pauseReading(name(key))
        case .resumeReading(let key): return .resumeReading(name(key))
        case .note: return output
        }
    }

    private func move(
        _ key: ConnectionKey, called name: ConnectionKey, from loop: Int, to other: Int, now: Instant
    ) -> LinkServerOutput? {
        guard let transferred = loops[loop].engine.transfer(key) else { return nil }
        names[Location(loop: loop, key: key)] = nil
        guard let newKey = loops[other].engine.adopt(transferred, now: now) else {
            return .close(name, afterFlush: false)
        }
        let location = Location(loop: other, key: newKey)
        locations[name] = location
        names[location] = name
        return nil
    }
}
