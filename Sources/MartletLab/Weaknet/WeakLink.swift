internal import MartletWire

/// A weak link and all connections that go through it: what arrives when, what is damaged, which connection is cut.
///
/// It knows no sockets and no clock; times are counted from when the link began. The same seed and the same bytes at
/// the same times give the same trouble.
struct WeakLink: Sendable {
    /// One of the two ways of a connection.
    enum Direction: CaseIterable, Sendable {
        /// From who connected to who accepted.
        case up
        /// Back.
        case down
    }

    /// A connection's number; the first is 1.
    typealias ConnectionNumber = Int

    /// What a pull led to.
    enum Pulled: Equatable, Sendable {
        /// So many bytes; none when nothing has arrived.
        case bytes(Int)
        /// All bytes were taken before, and the stream's end has arrived.
        case end
    }

    /// How long after its last byte a connection is cut, so that the byte can reach who it was for.
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

    /// The trouble.
    let profile: WeakLinkProfile
    /// What has happened so far.
    private(set) var report = WeakLinkReport()
    private let seed: UInt64
    private let outages: Outages
    private var corruptionUp: Corruption?
    private var corruptionDown: Corruption?
    private var connections: [ConnectionNumber: Connection] = [:]
    private var nextCut: Duration?

    /// A link that begins now.
    init(_ profile: WeakLinkProfile, seed: UInt64) {
        self.profile = profile
        self.seed = seed
        outages = Outages(profile)
        nextCut = profile.cutEvery
        var seeds = SeededRandom(seed: seed)
        corruptionUp = profile.corruptOneIn.map { Corruption(oneIn: $0, seed: seeds.next()) }
        corruptionDown = profile.corruptOneIn.map { Corruption(oneIn: $0, seed: seeds.next()) }
    }

    /// When connections are cut whatever they carry, if that is ever to come.
    var cutTime: Duration? { mayCut ? nextCut : nil }

    /// The first moment, not before `now`, at which a connection can be opened.
    func firstOpening(from now: Duration) -> Duration { outages.firstOpening(from: now) }

    /// Begins a connection. Its first bytes leave after a round trip, for the handshake of TCP.
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

    /// The other end of a connection could not be reached.
    mutating func targetWasUnreachable() { report.unreachableCount += 1 }

    /// A connection is over; what it still holds is lost.
    mutating func close(_ number: ConnectionNumber) {
        guard let connection = connections.removeValue(forKey: number) else { return }
        report.lostByteCount += connection.up.heldByteCount + connection.down.heldByteCount
    }

    /// Receives bytes from one side at `now`. A caller that asks ``hasRoom(_:_:)`` first keeps the bound of the link.
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

    /// One side has sent its last byte.
    mutating func pushEnd(_ number: ConnectionNumber, _ direction: Direction, now: Duration) {
        connections[number]?[direction].pushEnd(now: now)
    }

    /// Whether the sender of that direction may go on; otherwise it has to wait until the other side has pulled.
    func hasRoom(_ number: ConnectionNumber, _ direction: Direction) -> Bool {
        guard let connection = connections[number] else { return false }
        return connection[direction].heldByteCount < profile.maxHeldByteCount
    }

    /// Whether a pull at `now` would get something.
    func isReady(_ number: ConnectionNumber, _ direction: Direction, now: Duration) -> Bool {
        guard let connection = connections[number], connection.cutTime == nil else { return false }
        return connection[direction].isReady(at: now)
    }

    /// The next moment after `now` at which either side gets something or the connection is cut.
    func nextArrival(_ number: ConnectionNumber, after now: Duration) -> Duration? {
        guard let connection = connections[number] else { return nil }
        if let cutTime = connection.cutTime { return cutTime }
        return [connection.up, connection.down].compactMap { $0.nextArrival(after: now) }.min()
    }

    /// Gives the receiving side what has arrived by `now`.
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

    /// Whether the connection has carried all it may: both sides lose it now.
    func isCut(_ number: ConnectionNumber, now: Duration) -> Bool {
        connections[number]?.cutTime.map { $0 <= now } ?? false
    }

    /// The connections to cut because ``cutTime`` has come; each counts as one cut.
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
