import MartletProtocol
import MartletWire

/// The engines of a relay's loops, which together look like one: a connection keeps the key under which it was
/// accepted, whatever loop it goes to.
final class VirtualLoops {
    final class Loop {
        var engine: RelayEngine

        init(_ engine: consuming RelayEngine) {
            self.engine = engine
        }
    }

    /// A connection as its loop knows it.
    private struct Home: Hashable {
        var loop: Int
        var key: ConnectionKey
    }

    let loops: [Loop]
    /// Of connections that have moved: where they are, and what they are called outside.
    private var homes: [ConnectionKey: Home] = [:]
    private var names: [Home: ConnectionKey] = [:]

    init(_ configuration: RelayConfiguration, count: Int, seed: UInt64) {
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

    func setWallClock(_ milliseconds: UInt64) {
        for loop in loops { loop.engine.wallClock = milliseconds }
    }

    // MARK: Connections

    func receive(_ bytes: RawSpan, on key: ConnectionKey, now: Instant) {
        let home = home(of: key)
        loops[home.loop].engine.receive(bytes, on: home.key, now: now)
    }

    func transmit(on key: ConnectionKey, into out: inout OutputRawSpan, now: Instant) {
        let home = home(of: key)
        loops[home.loop].engine.transmit(on: home.key, into: &out, now: now)
    }

    func endOfStream(_ key: ConnectionKey, now: Instant) {
        let home = home(of: key)
        loops[home.loop].engine.endOfStream(home.key, now: now)
    }

    func closed(_ key: ConnectionKey, now: Instant) {
        let home = home(of: key)
        loops[home.loop].engine.closed(home.key, now: now)
        homes[key] = nil
        names[home] = nil
    }

    private func home(of key: ConnectionKey) -> Home { homes[key] ?? Home(loop: 0, key: key) }

    // MARK: Time

    var deadline: Instant? { loops.compactMap { $0.engine.deadline }.min() }

    func deadlinePassed(now: Instant) {
        for loop in loops {
            guard let deadline = loop.engine.deadline, deadline <= now else { continue }
            loop.engine.deadlinePassed(now: now)
        }
    }

    // MARK: Answers of the shell

    func authenticated(_ key: ConnectionKey, _ answer: AuthenticationAnswer, now: Instant) {
        let home = home(of: key)
        loops[home.loop].engine.authenticated(home.key, answer, now: now)
    }

    func loaded(_ room: RoomName, _ snapshot: RoomSnapshot?) {
        loop(of: room).engine.loaded(room, snapshot)
    }

    func stored(_ room: RoomName, upTo offset: UInt64?, messageCount: Int) {
        loop(of: room).engine.stored(room, upTo: offset, messageCount: messageCount)
    }

    func read(_ handle: MemberHandle, _ entries: [LogEntry]?, first: UInt64) {
        loops[Int(handle.loop)].engine.read(handle, entries, first: first)
    }

    func respond(to handle: MemberHandle, _ response: Response) {
        loops[Int(handle.loop)].engine.respond(to: handle, response)
    }

    private func loop(of room: RoomName) -> Loop { loops[LoopPlace(index: 0, count: loops.count).loop(of: room)] }

    // MARK: Outputs

    func nextOutput(now: Instant) -> RelayOutput? {
        for number in loops.indices {
            while let output = loops[number].engine.nextOutput(now: now) {
                if let output = pass(output, from: number, now: now) { return output }
            }
        }
        return nil
    }

    func receive(_ messages: [LoopMessage], at loop: Int, now: Instant) {
        loops[loop].engine.receive(messages, now: now)
    }

    /// What is for the world outside, in its terms.
    private func pass(_ output: RelayOutput, from loop: Int, now: Instant) -> RelayOutput? {
        func name(_ key: ConnectionKey) -> ConnectionKey { names[Home(loop: loop, key: key)] ?? key }
        switch output {
        case .handOver(let key, let other):
            return move(key, called: name(key), from: loop, to: other, now: now)
        case .authenticate(let key, let request): return .authenticate(name(key), request)
        case .transmit(let keys): return .transmit(keys.map(name))
        case .close(let key, let afterFlush): return .close(name(key), afterFlush: afterFlush)
        case .pauseReading(let key): return .pauseReading(name(key))
        case .resumeReading(let key): return .resumeReading(name(key))
        case .tell, .load, .append, .read, .request, .note: return output
        }
    }

    private func move(
        _ key: ConnectionKey, called name: ConnectionKey, from loop: Int, to other: Int, now: Instant
    ) -> RelayOutput? {
        guard let departing = loops[loop].engine.handOver(key) else { return nil }
        names[Home(loop: loop, key: key)] = nil
        guard let arrived = loops[other].engine.takeOver(departing, now: now) else {
            return .close(name, afterFlush: false)
        }
        let home = Home(loop: other, key: arrived)
        homes[name] = home
        names[home] = name
        return nil
    }
}
