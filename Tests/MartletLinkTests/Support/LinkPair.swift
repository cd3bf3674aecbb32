import MartletWire
import Testing

@testable import MartletLink

/// The properties of a carrier between two links, in each direction.
struct LinkPath {
    var delay: Duration = .milliseconds(50)
    /// The rate of the path, from an unbounded buffer; nil for no limit.
    var bytesPerSecond: Int?
    /// The sender's buffer before the path, in bytes; nil for no bound.
    var bufferByteCount: Int?
    /// On a carrier without order: lost, duplicated and overtaken frames of 1,000.
    var lostPerMille = 0
    var doubledPerMille = 0
    var overtakenPerMille = 0
}

/// Two links and a carrier between them in virtual time. Every frame is encoded, framed and parsed.
///
/// Time advances from event to event, and events of one instant occur in the order of their causes, so a seed gives the
/// same run. After each step a link with space in its buffer has no output left, and its deadline is in the future;
/// otherwise an engine would spin.
final class LinkPair {
    private enum Event {
        case arrive([UInt8], atRelay: Bool, connection: Int)
        case writable(atRelay: Bool, connection: Int)
        case hello(connection: Int)
        case welcome([SessionPosition]?, connection: Int)
    }

    let client: LinkEnd
    let relay: LinkEnd
    let carrier: Carrier
    var path: LinkPath
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    /// All frames sent on the carrier, with their senders.
    fileprivate(set) var frames: [(header: FrameHeader, body: [UInt8], byRelay: Bool)] = []
    /// Selects frames that the carrier loses.
    var loses: (FrameHeader, _ byRelay: Bool) -> Bool = { _, _ in false }
    /// Selects frames that are never written, on any carrier, as by a peer that does not send them.
    var swallows: (FrameHeader, _ byRelay: Bool) -> Bool = { _, _ in false }
    private var random: SeededRandom
    private var timers = TimerQueue<Int>()
    private var eventOfNumber: [Int: Event] = [:]
    private var nextNumber = 0
    private var connection = 0
    private var freeAt = [Instant.zero, Instant.zero]
    private var isWaiting = [false, false]
    private var hasLinked = false

    /// Creates two links with a connection after its handshake.
    init(
        _ carrier: Carrier, path: LinkPath = LinkPath(), limits: Limits = Limits(), seed: UInt64 = 1,
        connected: Bool = true
    ) {
        self.carrier = carrier
        self.path = path
        random = SeededRandom(seed: seed)
        client = LinkEnd(.client, limits, carrier: carrier, now: now)
        relay = LinkEnd(.relay, limits, carrier: carrier, now: now)
        guard connected else { return }
        client.link.attach(carrier, isEarly: false, now: now)
        relay.link.attach(carrier, isEarly: false, now: now)
        hasLinked = true
    }

    // MARK: Connections

    /// Breaks the connection. Bytes in flight are lost, and both sides are notified.
    func cut() {
        connection += 1
        freeAt = [now, now]
        isWaiting = [false, false]
        for end in [client, relay] {
            end.link.detach()
            end.fault = nil
            end.demands = []
        }
    }

    /// Connects again and resumes. The client sends early frames, the relay answers with its positions.
    func resume() {
        client.beginStream()
        relay.beginStream()
        client.link.attach(carrier, isEarly: true, now: now)
        let positions = client.link.positions
        clientPositions = hasLinked ? positions : nil
        schedule(.hello(connection: connection), after: path.delay)
        settle()
    }

    private var clientPositions: [SessionPosition]?

    private func takeHello() {
        relay.link.attach(carrier, isEarly: false, now: now)
        if let clientPositions { #expect(relay.link.canResume(from: clientPositions) == true) }
        relay.link.confirm(clientPositions, now: now)
        schedule(
            .welcome(hasLinked ? relay.link.positions : nil, connection: connection), after: path.delay)
        hasLinked = true
    }

    private func takeWelcome(_ positions: [SessionPosition]?) {
        if let positions { #expect(client.link.canResume(from: positions) == true) }
        client.link.confirm(positions, now: now)
    }

    // MARK: Time

    func run(for duration: Duration) {
        run(until: now + duration) { false }
    }

    /// Advances time until `condition` holds; false if it does not before `limit`.
    @discardableResult
    func run(until limit: Instant, _ condition: () -> Bool) -> Bool {
        settle()
        while !condition() {
            guard let next = nextTime, next <= limit else {
                now = max(now, limit)
                return condition()
            }
            now = max(now, next)
            step()
            settle()
        }
        return true
    }

    @discardableResult
    func run(within duration: Duration, _ condition: () -> Bool) -> Bool {
        run(until: now + duration, condition)
    }

    private var nextTime: Instant? {
        [timers.earliest, client.link.deadline, relay.link.deadline].compactMap(\.self).min()
    }

    private func step() {
        while let number = timers.popExpired(now: now), let event = eventOfNumber.removeValue(forKey: number) {
            handle(event)
        }
        for end in [client, relay] {
            if let deadline = end.link.deadline, deadline <= now { end.deadlinePassed(now: now) }
            if !end.demands.isEmpty || end.fault != nil { end.link.detach() }
        }
    }

    private func handle(_ event: Event) {
        switch event {
        case .arrive(let bytes, let atRelay, connection):
            (atRelay ? relay : client).receive(bytes, now: now)
        case .writable(let atRelay, connection):
            isWaiting[atRelay ? 1 : 0] = false
        case .hello(connection): takeHello()
        case .welcome(let positions, connection): takeWelcome(positions)
        case .arrive, .writable, .hello, .welcome: break
        }
    }

    // MARK: Carrier

    /// Writes the output of both links.
    func settle() {
        for (index, end) in [client, relay].enumerated() {
            while end.fault == nil, end.link.hasOutput(now: now), !isWaiting[index] {
                if let limit = path.bufferByteCount, backlog(index) >= limit {
                    isWaiting[index] = true
                    schedule(.writable(atRelay: index == 1, connection: connection), after: wait(index, toHave: limit))
                    break
                }
                let bytes = end.transmit(now: now)
                put(bytes, byRelay: index == 1)
                if bytes.isEmpty {
                    if end.link.hasOutput(now: now) { Issue.record("output that transmit does not write") }
                    break
                }
            }
            if end.fault == nil, !isWaiting[index], let deadline = end.link.deadline, deadline <= now {
                end.deadlinePassed(now: now)
                if let again = end.link.deadline, again <= now, end.demands.isEmpty {
                    Issue.record("a deadline that does not move")
                }
            }
        }
        if [client, relay].contains(where: { $0.fault == nil && $0.link.hasOutput(now: now) }),
            !isWaiting.contains(true)
        {
            settle()
        }
    }

    private func backlog(_ index: Int) -> Int {
        guard let rate = path.bytesPerSecond, freeAt[index] > now else { return 0 }
        return Int((freeAt[index] - now).nanoseconds / 1000) * rate / 1_000_000
    }

    private func wait(_ index: Int, toHave limit: Int) -> Duration {
        .microseconds(Int64(backlog(index) - limit / 2) * 1_000_000 / Int64(path.bytesPerSecond ?? 1))
    }

    private func put(_ bytes: [UInt8], byRelay: Bool) {
        for frame in split(bytes) {
            let header = try? FrameHeader(parsing: frame.rawBytes, maxBodyByteCount: 1 << 20)
            guard let header else {
                Issue.record("bytes that are no frame")
                return
            }
            if swallows(header, byRelay) { continue }
            frames.append((header, Array(frame.dropFirst(FrameHeader.byteCount)), byRelay))
            let arrival = arrivalTime(of: frame.count, byRelay ? 1 : 0)
            switch carrier {
            case .reliable: putInPieces(frame, byRelay: byRelay, at: arrival)
            case .unreliable: putDatagram(header, frame, byRelay: byRelay, at: arrival)
            }
        }
    }

    /// A stream splits frames into pieces.
    private func putInPieces(_ frame: [UInt8], byRelay: Bool, at arrival: Instant) {
        let cut = Int(random.next() % UInt64(frame.count))
        for piece in [frame[..<cut], frame[cut...]] where !piece.isEmpty {
            schedule(.arrive(Array(piece), atRelay: !byRelay, connection: connection), at: arrival)
        }
    }

    private func putDatagram(_ header: FrameHeader, _ frame: [UInt8], byRelay: Bool, at arrival: Instant) {
        guard !happens(path.lostPerMille), !loses(header, byRelay) else { return }
        let event = Event.arrive(frame, atRelay: !byRelay, connection: connection)
        schedule(event, at: happens(path.overtakenPerMille) ? arrival + path.delay : arrival)
        if happens(path.doubledPerMille) { schedule(event, at: arrival + path.delay / 2) }
    }

    private func arrivalTime(of byteCount: Int, _ index: Int) -> Instant {
        guard let rate = path.bytesPerSecond else { return now + path.delay }
        freeAt[index] = max(freeAt[index], now) + .microseconds(Int64(byteCount) * 1_000_000 / Int64(rate))
        return freeAt[index] + path.delay
    }

    private func happens(_ perMille: Int) -> Bool {
        perMille > 0 && random.next() % 1000 < UInt64(perMille)
    }

    private func split(_ bytes: [UInt8]) -> [[UInt8]] {
        var result: [[UInt8]] = []
        var offset = 0
        while offset + FrameHeader.byteCount <= bytes.count {
            let body = bytes.rawBytes.loadUInt32(at: offset + 20)
            let end = offset + FrameHeader.byteCount + Int(body)
            result.append(Array(bytes[offset..<end]))
            offset = end
        }
        return result
    }

    private func schedule(_ event: Event, after delay: Duration) {
        schedule(event, at: now + delay)
    }

    private func schedule(_ event: Event, at instant: Instant) {
        eventOfNumber[nextNumber] = event
        timers.set(nextNumber, at: max(instant, now))
        nextNumber += 1
    }
}

extension LinkPair {
    /// Opens a session from the client and waits until it is open.
    func open(_ room: String = "lobby", kind: SessionKind = .chat) throws -> SessionID {
        let name = try #require(RoomName(room))
        let session = try client.link.open(Open(room: name, kind: kind, cursor: 0))
        let isOpen = run(within: .seconds(5)) {
            client.events.contains { if case .opened(session, _) = $0 { true } else { false } }
        }
        try #require(isOpen)
        return session
    }

    /// Queues a message of `byteCount` bytes that begins with `number`.
    @discardableResult
    func send(_ number: Int, byteCount: Int = 100, on session: SessionID, from end: LinkEnd? = nil) -> Link.OnSend {
        let body = EncodedBody(LinkPair.body(number, byteCount: byteCount))
        return (end ?? client).link.send(.data, body, on: session)
    }

    static func body(_ number: Int, byteCount: Int = 100) -> [UInt8] {
        var body: [UInt8] = []
        body.append(bigEndian: UInt64(number))
        return body + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: max(0, byteCount - 8))
    }

    static func numbers(_ bodies: [[UInt8]]) -> [Int] {
        bodies.map { Int($0.rawBytes.loadUInt64(at: 0)) }
    }

    /// The frames of a type that one side has sent.
    func frames(_ type: FrameType, byRelay: Bool) -> [(header: FrameHeader, body: [UInt8])] {
        frames.filter { $0.header.type == type && $0.byRelay == byRelay }.map { ($0.header, $0.body) }
    }

    func acks(byRelay: Bool) throws -> [Ack] {
        try frames(.ack, byRelay: byRelay).map { try Ack(parsing: $0.body.rawBytes) }
    }

    func forgetFrames() {
        frames = []
    }
}
