internal import MartletWire

/// A model of a faulty link and of all connections through it: the arrival of bytes, corruption and cuts.
///
/// The model uses no sockets and no clock; times are durations since the start of the link. The same seed and the same
/// bytes at the same times give the same faults.
struct WeakLink: Sendable {
    /// A direction of a connection.
    enum Direction: CaseIterable, Sendable {
        /// From the client to the server.
        case up
        /// From the server to the client.
        case down
    }

    /// The number of a connection, from 1.
    typealias ConnectionNumber = Int

    /// The result of a pull.
    enum Pulled: Equatable, Sendable {
        /// The number of bytes; 0 if none have arrived.
        case bytes(Int)
        /// The end of the stream. All bytes were pulled before.
        case end
    }

    /// The duration between the last byte of a connection and its cut, in which the byte can reach its receiver.
    static let cutGrace = Duration.milliseconds(2)

    private struct Connection: Sendable {
        var up: WeakPipe
        var down: WeakPipe
        var carriedByteCount = 0
        var cutTime: Duration?

        subscript(direction: Direction) -> WeakPipe {
            get { direction == .up ? up : down }
            _modify {
                if direction == .up { yield &up } else { yield &down }
            }
        }
    }

    /// The faults of the link.
    let profile: WeakLinkProfile
    /// The report so far.
    private(set) var report = WeakLinkReport()
    private let seed: UInt64
    private let outages: Outages
    private var corruptionUp: Corruption?
    private var corruptionDown: Corruption?
    private var connections: [ConnectionNumber: Connection] = [:]
    private var nextCut: Duration?

    /// Creates a link that starts now.
    init(_ profile: WeakLinkProfile, seed: UInt64) {
        self.profile = profile
        self.seed = seed
        outages = Outages(profile)
        nextCut = profile.cutEvery
        var seeds = SeededRandom(seed: seed)
        corruptionUp = profile.corruptOneIn.map { Corruption(oneIn: $0, seed: seeds.next()) }
        corruptionDown = profile.corruptOneIn.map { Corruption(oneIn: $0, seed: seeds.next()) }
    }

    /// The time of the next cut of all connections; nil if there is none.
    var cutTime: Duration? { mayCut ? nextCut : nil }

    /// Returns the first time, `now` or later, at which a connection can be opened.
    func firstOpening(from now: Duration) -> Duration { outages.firstOpening(from: now) }

    /// Opens a connection. Its first bytes are sent after a round trip, for the TCP handshake.
    mutating func open(now: Duration) -> ConnectionNumber {
        report.connectionCount += 1
        let number = report.connectionCount
        var seeds = SeededRandom(seed: seed ^ UInt64(number) << 20)
        let opening = now + profile.delay * 2
        connections[number] = Connection(
            up: WeakPipe(profile, seed: seeds.next(), opening: opening),
            down: WeakPipe(profile, seed: seeds.next(), opening: opening))
        return number
    }

    /// Reports that the target of a connection was unreachable.
    mutating func targetWasUnreachable() { report.unreachableCount += 1 }

    /// Closes a connection. Its bytes in flight are lost.
    mutating func close(_ number: ConnectionNumber) {
        guard let connection = connections.removeValue(forKey: number) else { return }
        report.lostByteCount += connection.up.heldByteCount + connection.down.heldByteCount
    }

    /// Sends bytes at `now`. The caller calls ``hasRoom(_:_:)`` before, so that the bound of the link is kept.
    mutating func push(_ bytes: [UInt8], _ number: ConnectionNumber, _ direction: Direction, now: Duration) {
        guard connections[number] != nil else { return }
        var bytes = bytes
        switch direction {
        case .up: corruptionUp?.apply(to: &bytes)
        case .down: corruptionDown?.apply(to: &bytes)
        }
        report.corruptedByteCount = (corruptionUp?.flippedCount ?? 0) + (corruptionDown?.flippedCount ?? 0)
        connections[number]?[direction].push(bytes, now: now)
        report.maxHeldByteCount = max(report.maxHeldByteCount, connections[number]?[direction].heldByteCount ?? 0)
    }

    /// Sends the end of one direction.
    mutating func pushEnd(_ number: ConnectionNumber, _ direction: Direction, now: Duration) {
        connections[number]?[direction].pushEnd(now: now)
    }

    /// Returns whether the sender of a direction may continue. Otherwise it waits until the receiver has pulled bytes.
    func hasRoom(_ number: ConnectionNumber, _ direction: Direction) -> Bool {
        guard let connection = connections[number] else { return false }
        return connection[direction].heldByteCount < profile.maxHeldByteCount
    }

    /// Returns whether a pull at `now` would return bytes or the end.
    func isReady(_ number: ConnectionNumber, _ direction: Direction, now: Duration) -> Bool {
        guard let connection = connections[number], connection.cutTime == nil else { return false }
        return connection[direction].isReady(at: now)
    }

    /// Returns the next time after `now` at which bytes arrive in either direction or the connection is cut.
    func nextArrival(_ number: ConnectionNumber, after now: Duration) -> Duration? {
        guard let connection = connections[number] else { return nil }
        if let cutTime = connection.cutTime { return cutTime }
        return [connection.up, connection.down].compactMap { $0.nextArrival(after: now) }.min()
    }

    /// Returns bytes to the receiver that have arrived by `now`.
    mutating func pull(
        _ number: ConnectionNumber, _ direction: Direction, into buffer: inout OutputRawSpan, now: Duration
    ) -> Pulled {
        guard let index = connections.index(forKey: number) else { return .bytes(0) }
        if connections.values[index].cutTime != nil { return .bytes(0) }
        if connections.values[index][direction].hasEnded(by: now) { return .end }
        let carried = connections.values[index].carriedByteCount
        let limit = mayCut ? profile.cutAfterByteCount.map { $0 - carried } : nil
        let byteCount = connections.values[index][direction].pull(into: &buffer, limit: limit ?? .max, now: now)
        connections.values[index].carriedByteCount += byteCount
        switch direction {
        case .up: report.upByteCount += byteCount
        case .down: report.downByteCount += byteCount
        }
        if let limit, byteCount >= limit {
            report.cutCount += 1
            connections.values[index].cutTime = now + Self.cutGrace
        }
        return .bytes(byteCount)
    }

    /// Returns whether the connection has transferred its maximum of bytes. Both sides then lose it.
    func isCut(_ number: ConnectionNumber, now: Duration) -> Bool {
        connections[number]?.cutTime.map { $0 <= now } ?? false
    }

    /// Returns the connections to cut because ``cutTime`` has passed. Each counts as one cut.
    mutating func connectionsToCut(now: Duration) -> [ConnectionNumber] {
        guard let every = profile.cutEvery, let due = cutTime, due <= now else { return [] }
        nextCut = every * (Int((now / every).rounded(.down)) + 1)
        let left = profile.maxCutCount.map { $0 - report.cutCount } ?? .max
        let numbers = connections.filter { $0.value.cutTime == nil }.keys.sorted().prefix(left)
        report.cutCount += numbers.count
        return Array(numbers)
    }

    private var mayCut: Bool { profile.maxCutCount.map { report.cutCount < $0 } ?? true }
}
